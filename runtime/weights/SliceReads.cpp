#include "runtime/weights/SliceReads.h"

#include "runtime/artifact/ScalarDependence.h"
#include "runtime/kernels/Kernel.h"
#include "runtime/weights/ConstantMatrix.h"

#include <algorithm>

namespace shardc::runtime {
namespace {

/// How a host's kernel packs that input; null: it does not.
const OperandPacking *packingOf(const artifact::Instruction &instruction,
                                uint32_t input) {
  const Kernel *kernel = findHostKernel(instruction.kernel()->string_view());
  if (kernel)
    for (const OperandPacking &packing : kernel->packings)
      if (packing.input == static_cast<int>(input))
        return &packing;
  return nullptr;
}

/// Tables are large, as what is packed is.
bool takesStrides(const artifact::Instruction &instruction, uint32_t input) {
  return packingOf(instruction, input) ||
         (instruction.kernel()->string_view() == "Gather" && input == 0);
}

} // namespace

SliceReads::SliceReads(const artifact::Program &program,
                       std::span<const uint8_t> dependence,
                       std::span<const int64_t> scalars)
    : program(program), dependence(dependence), scalars(scalars),
      of(program.weights()->size()) {
  for (const auto *list : {program.load(), program.run()})
    for (const artifact::Instruction *instruction : *list) {
      for (uint32_t i = 0; i < instruction->inputs()->size(); ++i)
        if (const int32_t view = instruction->inputs()->Get(i); view >= 0)
          add(instruction, i, uint32_t(view), list == program.run());
      for (int32_t view : *instruction->outputs())
        if (view >= 0)
          add(nullptr, 0, uint32_t(view), false);
    }
  for (const artifact::Output *output : *program.outputs())
    add(nullptr, 0, output->view(), false);
  if (program.joins())
    for (const artifact::Join *join : *program.joins())
      for (uint32_t weight : *join->weights())
        of[weight].takeStrides = of[weight].areOnlyPacked = false;
}

/// `reader`: null for whoever may take anything for dense.
void SliceReads::add(const artifact::Instruction *reader, uint32_t input,
                     uint32_t view, bool isRun) {
  const artifact::Buffer *buffer =
      program.buffers()->Get(program.views()->Get(view)->buffer());
  if (buffer->kind() != artifact::BufferKind_Weight)
    return;
  Reads &reads = of[buffer->source()];
  reads.views.push_back(view);
  reads.takeStrides &= reader && takesStrides(*reader, input);
  reads.areOnlyPacked &= reader && isRun && isPacked(*reader, input, view);
}

bool SliceReads::isPacked(const artifact::Instruction &reader, uint32_t input,
                          uint32_t view) const {
  const OperandPacking *packing = packingOf(reader, input);
  TensorView matrix;
  const auto hasInput = [&](int number) {
    return number >= 0 && uint32_t(number) < reader.inputs()->size() &&
           reader.inputs()->Get(uint32_t(number)) >= 0;
  };
  if (!packing || !packing->replaces || hasInput(packing->scale) ||
      !findConstantMatrix(program, dependence, scalars, view, packing->rank,
                          matrix))
    return false;
  const bool isFloat = matrix.element == artifact::ElementType_Float32 ||
                       matrix.element == artifact::ElementType_Float16 ||
                       matrix.element == artifact::ElementType_BFloat16;
  return isFloat &&
         std::all_of(matrix.dims, matrix.dims + matrix.rank,
                     [](int64_t size) { return size > 0; }) &&
         packing->bytes(matrix) > 0;
}

bool SliceReads::takeRows(uint32_t weight, const BlockLayout &block) const {
  const artifact::ElementType element =
      program.weights()->Get(weight)->element();
  return of[weight].takeStrides &&
         std::all_of(
             of[weight].views.begin(), of[weight].views.end(),
             [&](uint32_t number) {
               const artifact::View &view = *program.views()->Get(number);
               return view.element() == element && staysInRows(view, block);
             });
}

/// Whatever the sizes of a request are.
bool SliceReads::staysInRows(const artifact::View &view,
                             const BlockLayout &block) const {
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
  return offset >= 0 && block.see(seen, offset);
}

} // namespace shardc::runtime
