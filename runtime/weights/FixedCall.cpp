#include "runtime/weights/FixedCall.h"

#include "runtime/artifact/ScalarDependence.h"
#include "runtime/program/AttributeValues.h"

namespace shardc::runtime {

FixedCall::FixedCall(const artifact::Program &program,
                     std::span<const uint8_t> dependence,
                     std::span<const int64_t> scalars,
                     const artifact::Instruction &instruction) {
  const auto valueOr = [&](uint32_t scalar, int64_t otherwise) {
    return isFixed(dependence, scalar) ? scalars[scalar] : otherwise;
  };
  for (const auto *list : {instruction.inputs(), instruction.outputs()})
    for (int32_t number : *list) {
      TensorView &into = views.emplace_back();
      into.rank = -1; // absent
      if (number < 0)
        continue;
      const artifact::View &view =
          *program.views()->Get(static_cast<uint32_t>(number));
      into.element = view.element();
      into.rank = static_cast<int>(view.dims()->size());
      for (uint32_t d = 0; d < view.dims()->size(); ++d) {
        into.dims[d] = valueOr(view.dims()->Get(d), 1);
        into.strides[d] = valueOr(view.strides()->Get(d), 0);
      }
    }
  made.inputs = views.data();
  made.numInputs = static_cast<int>(instruction.inputs()->size());
  made.outputs = views.data() + made.numInputs;
  made.numOutputs = static_cast<int>(instruction.outputs()->size());
  if (!instruction.attributes())
    return;
  ints.reserve(numAttributeScalars(instruction));
  for (const artifact::Attribute *from : *instruction.attributes()) {
    const size_t first = ints.size();
    if (from->scalars())
      for (uint32_t scalar : *from->scalars()) {
        areKnown &= isFixed(dependence, scalar);
        ints.push_back(valueOr(scalar, 1));
      }
    attributes.push_back(attributeOf(*from, ints.data() + first));
  }
  made.attributes = attributes.data();
  made.numAttributes = static_cast<int>(attributes.size());
}

} // namespace shardc::runtime
