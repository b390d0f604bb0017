#include "runtime/weights/ConstantReads.h"

#include "runtime/artifact/ScalarDependence.h"
#include "runtime/weights/FixedCall.h"
#include "runtime/weights/PackedOperands.h"

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

/// Tables, and what is copied when weights are loaded, are large, as what is packed.
bool takesStrides(const artifact::Instruction &instruction, uint32_t input) {
  const std::string_view kernel = instruction.kernel()->string_view();
  return packingOf(instruction, input) || kernel == "Copy" ||
         (kernel == "Gather" && input == 0);
}

} // namespace

ConstantReads::ConstantReads(const artifact::Program &program,
                             std::span<const uint8_t> dependence,
                             std::span<const int64_t> scalars)
    : program(program), dependence(dependence), scalars(scalars),
      ofWeights(program.weights()->size()),
      ofBuffers(program.buffers()->size()) {
  for (const auto *list : {program.load(), program.run()})
    for (const artifact::Instruction *instruction : *list) {
      const bool isRun = list == program.run();
      for (uint32_t i = 0; i < instruction->inputs()->size(); ++i)
        if (const int32_t view = instruction->inputs()->Get(i); view >= 0)
          add(instruction, i, uint32_t(view), isRun);
      for (int32_t view : *instruction->outputs())
        if (view >= 0)
          add(nullptr, 0, uint32_t(view), isRun);
    }
  for (const artifact::Output *output : *program.outputs())
    add(nullptr, 0, output->view(), /*isRun=*/true);
  if (program.joins())
    for (const artifact::Join *join : *program.joins())
      for (uint32_t weight : *join->weights())
        ofWeights[weight].takeStrides = ofWeights[weight].areOnlyPacked = false;
}

/// Null of what nobody asks about: while it is made a value may be read anyhow.
ConstantReads::Reads *ConstantReads::readsOf(uint32_t view, bool isRun) {
  const uint32_t number = program.views()->Get(view)->buffer();
  const artifact::Buffer *buffer = program.buffers()->Get(number);
  if (buffer->kind() == artifact::BufferKind_Weight)
    return &ofWeights[buffer->source()];
  return buffer->kind() == artifact::BufferKind_Persistent && isRun
             ? &ofBuffers[number]
             : nullptr;
}

/// `reader`: null for whoever may take anything for dense.
void ConstantReads::add(const artifact::Instruction *reader, uint32_t input,
                        uint32_t view, bool isRun) {
  Reads *reads = readsOf(view, isRun);
  if (!reads)
    return;
  PackedRead read;
  reads->views.push_back(view);
  reads->takeStrides &= reader && takesStrides(*reader, input);
  if (reader && isRun && isPacked(*reader, input, view, read))
    reads->packed.push_back(read);
  else
    reads->areOnlyPacked = false;
}

bool ConstantReads::isPacked(const artifact::Instruction &reader,
                             uint32_t input, uint32_t view,
                             PackedRead &read) const {
  read.packing = packingOf(reader, input);
  if (!read.packing || !read.packing->replaces)
    return false;
  const std::optional<ConstantMatrix> matrix = findConstantMatrix(
      program, dependence, scalars, view, read.packing->rank);
  if (!matrix || packedBytes(*read.packing, matrix->view) == 0)
    return false;
  read.matrix = *matrix;
  const FixedCall fixed(program, dependence, scalars, reader);
  return fixed.hasAttributes() && read.packing->replaces(fixed.call());
}

std::span<const PackedRead>
ConstantReads::packedReadsOf(uint32_t loadedBuffer) const {
  const Reads &reads = ofBuffers[loadedBuffer];
  return reads.areOnlyPacked ? std::span<const PackedRead>(reads.packed)
                             : std::span<const PackedRead>();
}

bool ConstantReads::takeRows(uint32_t weight, const BlockLayout &block) const {
  const artifact::ElementType element =
      program.weights()->Get(weight)->element();
  const Reads &reads = ofWeights[weight];
  return reads.takeStrides &&
         std::all_of(
             reads.views.begin(), reads.views.end(), [&](uint32_t number) {
               const artifact::View &view = *program.views()->Get(number);
               return view.element() == element && staysInRows(view, block);
             });
}

/// Whatever the sizes of a request are.
bool ConstantReads::staysInRows(const artifact::View &view,
                                const BlockLayout &block) const {
  if (!isFixed(dependence, view.offset()))
    return false;
  TensorView seen;
  seen.rank = static_cast<int>(view.dims()->size());
  for (uint32_t d = 0; d < view.dims()->size(); ++d) {
    const uint32_t size = view.dims()->Get(d), stride = view.strides()->Get(d);
    if (!isFixed(dependence, stride) ||
        (scalars[stride] != 0 && !isFixed(dependence, size)))
      return false;
    seen.strides[d] = scalars[stride];
    seen.dims[d] = scalars[stride] == 0 ? 1 : scalars[size];
  }
  int64_t offset = scalars[view.offset()];
  return offset >= 0 && block.see(seen, offset);
}

} // namespace shardc::runtime
