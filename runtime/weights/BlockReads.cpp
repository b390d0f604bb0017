#include "runtime/weights/BlockReads.h"

#include "runtime/artifact/ScalarDependence.h"
#include "runtime/kernels/Kernel.h"

#include <algorithm>

namespace shardc::runtime {
namespace {

/// Whether an instruction's kernel takes that input of any strides, and what is
/// large is read as it lies or packed once.
bool takesRows(const artifact::Instruction &instruction, uint32_t input) {
  const std::string_view name = instruction.kernel()->string_view();
  const Kernel *kernel = findHostKernel(name);
  return kernel &&
         (std::any_of(kernel->packings.begin(), kernel->packings.end(),
                      [&](const OperandPacking &packing) {
                        return packing.input == static_cast<int>(input);
                      }) ||
          (name == "Gather" && input == 0));
}

/// Calls visit(view, whether rows will do) for all reads.
template <typename Visit>
void forEachRead(const artifact::Program &program, Visit visit) {
  auto read = [&](int64_t view, bool takes) {
    if (view >= 0) // not absent
      visit(static_cast<uint32_t>(view), takes);
  };
  for (const auto *list : {program.load(), program.run()})
    for (const artifact::Instruction *instruction : *list) {
      for (uint32_t i = 0; i < instruction->inputs()->size(); ++i)
        read(instruction->inputs()->Get(i), takesRows(*instruction, i));
      for (int32_t view : *instruction->outputs())
        read(view, false);
    }
  for (const artifact::Output *output : *program.outputs())
    read(output->view(), false);
}

} // namespace

BlockReads::BlockReads(const artifact::Program &program,
                       std::span<const uint8_t> dependence,
                       std::span<const int64_t> scalars)
    : program(program), dependence(dependence), scalars(scalars),
      views(program.weights()->size()),
      isReadOtherwise(program.weights()->size()) {
  forEachRead(program, [&](uint32_t view, bool takesRows) {
    const artifact::Buffer *buffer =
        program.buffers()->Get(program.views()->Get(view)->buffer());
    if (buffer->kind() != artifact::BufferKind_Weight)
      return;
    views[buffer->source()].push_back(view);
    isReadOtherwise[buffer->source()] |= !takesRows;
  });
  if (program.joins())
    for (const artifact::Join *join : *program.joins())
      for (uint32_t weight : *join->weights())
        isReadOtherwise[weight] = 1;
}

bool BlockReads::allow(uint32_t weight, const BlockLayout &layout) const {
  return !isReadOtherwise[weight] &&
         std::all_of(
             views[weight].begin(), views[weight].end(), [&](uint32_t number) {
               const artifact::View &view = *program.views()->Get(number);
               return view.element() ==
                          program.weights()->Get(weight)->element() &&
                      isSeen(view, layout);
             });
}

/// Whatever the sizes of a request are.
bool BlockReads::isSeen(const artifact::View &view,
                        const BlockLayout &layout) const {
  const auto isFixed = [&](uint32_t scalar) {
    return (dependence[scalar] & kOnSymbols) == 0;
  };
  if (!isFixed(view.offset()))
    return false;
  TensorView seen;
  seen.rank = static_cast<int>(view.dims()->size());
  for (uint32_t d = 0; d < view.dims()->size(); ++d) {
    const uint32_t size = view.dims()->Get(d), stride = view.strides()->Get(d);
    if (!isFixed(stride) || (scalars[stride] != 0 && !isFixed(size)))
      return false;
    seen.strides[d] = scalars[stride];
    seen.dims[d] = scalars[stride] == 0 ? 1 : scalars[size];
  }
  int64_t offset = scalars[view.offset()];
  return offset >= 0 && layout.see(seen, offset);
}

} // namespace shardc::runtime
