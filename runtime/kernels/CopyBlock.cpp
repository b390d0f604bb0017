#include "runtime/kernels/CopyBlock.h"

#include "runtime/kernels/Kernel.h"
#include "runtime/tensor/CopyView.h"

#include <cassert>

namespace shardc::runtime {
namespace {

/// The reader of the artifact lets only floats differ, which always convert.
void castView(const TensorView &destination, const TensorView &source) {
  if (destination.element == source.element)
    return copyView(destination, source);
  if (destination.numElements() == 0)
    return;
  static const Kernel *const cast = findHostKernel("Cast");
  KernelCall call;
  call.inputs = &source;
  call.outputs = &destination;
  call.numInputs = call.numOutputs = 1;
  [[maybe_unused]] Status status = cast->run(call);
  assert(status.isOk());
}

void copyRuns(std::span<const OwnedRuns> dims, int d, const TensorView &global,
              const TensorView &local, BlockCopy direction) {
  if (d == static_cast<int>(dims.size())) {
    if (direction == BlockCopy::ToLocal)
      castView(local, global);
    else
      castView(global, local);
    return;
  }
  const OwnedRuns &owned = dims[static_cast<size_t>(d)];
  int64_t at = 0;
  for (const OwnedRun &run : owned.runs) {
    copyRuns(dims, d + 1, narrowed(global, d, run.start, run.length),
             narrowed(local, d, at, run.length), direction);
    at += run.length;
  }
}

} // namespace

void copyBlock(std::span<const OwnedRuns> dims, const TensorView &global,
               const TensorView &local, BlockCopy direction) {
  copyRuns(dims, 0, global, local, direction);
}

} // namespace shardc::runtime
