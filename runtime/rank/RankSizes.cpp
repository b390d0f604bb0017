//===- RankSizes.cpp - What the data decide -------------------------------===//
#include "runtime/program/ScalarEvaluator.h"
#include "runtime/rank/Rank.h"

namespace shardc::runtime {
namespace {

int64_t integerAt(const std::byte *data, artifact::ElementType element) {
  switch (element) {
  case artifact::ElementType_Bool:
  case artifact::ElementType_UInt8:
    return *reinterpret_cast<const uint8_t *>(data);
  case artifact::ElementType_Int8:
    return *reinterpret_cast<const int8_t *>(data);
  case artifact::ElementType_Int16:
    return *reinterpret_cast<const int16_t *>(data);
  case artifact::ElementType_UInt16:
    return *reinterpret_cast<const uint16_t *>(data);
  case artifact::ElementType_Int32:
    return *reinterpret_cast<const int32_t *>(data);
  case artifact::ElementType_UInt32:
    return *reinterpret_cast<const uint32_t *>(data);
  default:
    return *reinterpret_cast<const int64_t *>(data);
  }
}

/// Row-major element `index` of a view of integers.
int64_t readInteger(const TensorView &view, int64_t index) {
  int64_t offset = 0;
  for (int d = view.rank - 1; d >= 0; --d) {
    offset += index % view.dims[d] * view.strides[d];
    index /= view.dims[d];
  }
  return integerAt(view.data + offset * artifact::elementBytes(view.element),
                   view.element);
}

} // namespace

/// After symbols were bound.
Status Rank::evaluateSizes() {
  SHARDC_RETURN_IF_ERROR(active->scalars.bind(symbols));
  return checkGuards(active->program(), active->scalars.mine());
}

/// All ranks find the same: what it reads is replicated.
Status Rank::readCondition(const BoundInstruction &instruction, bool &holds) {
  TensorView view = instruction.call.inputs[0];
  if (view.numElements() != 1)
    return artifactError(instruction.name, " at node '", instruction.node,
                         "' has a condition of ", view.numElements(),
                         " elements, expected one; change the inputs");
  if (staging)
    SHARDC_RETURN_IF_ERROR(staging->fetch(view, view));
  holds = readInteger(view, 0) != 0;
  return Status::ok();
}

void Rank::setSizes(const BoundInstruction &instruction) {
  const auto &scalars = *active->program().scalars();
  const auto *sizes =
      findAttribute(*active->program().run()->Get(instruction.index), "sizes");
  const KernelAttribute *values = instruction.call.find("values");
  for (uint32_t s = 0; s < sizes->scalars()->size(); ++s) {
    const int64_t symbol = scalars.Get(sizes->scalars()->Get(s))->value();
    symbols[static_cast<size_t>(symbol)] = values->ints[s];
  }
}

/// Binds the symbols that this instruction reads; anything else must be as it
/// was computed.
Status Rank::readSizes(const BoundInstruction &instruction) {
  const auto *sizes =
      findAttribute(*active->program().run()->Get(instruction.index), "sizes");
  TensorView view = instruction.call.inputs[0];
  if (view.numElements() != static_cast<int64_t>(sizes->scalars()->size()))
    return artifactError("read_sizes at node '", instruction.node, "' has ",
                         sizes->scalars()->size(), " sizes for ",
                         view.numElements(), " elements");
  if (staging)
    SHARDC_RETURN_IF_ERROR(staging->fetch(view, view));
  for (uint32_t e = 0; e < sizes->scalars()->size(); ++e) {
    const uint32_t scalar = sizes->scalars()->Get(e);
    const int64_t found = readInteger(view, e);
    const int64_t symbol = active->program().scalars()->Get(scalar)->value();
    const int64_t expected = instruction.call.attributes[0].ints[e];
    if (found < 0)
      return argumentError("node '", instruction.node, "' computes the size ",
                           found, ", expected at least 0; change the inputs")
          .at({.kernel = "read_sizes", .node = std::string(instruction.node)});
    if (bindsSymbol(active->program(), instruction.index, scalar))
      symbols[static_cast<size_t>(symbol)] = found;
    else if (expected != found)
      return argumentError("guard violated: node '", instruction.node,
                           "' computes the size ", found, ", expected ",
                           describeScalar(active->program(), scalar), " = ",
                           expected, "; change the inputs")
          .at({.kernel = "read_sizes", .node = std::string(instruction.node)});
  }
  return evaluateSizes();
}

} // namespace shardc::runtime
