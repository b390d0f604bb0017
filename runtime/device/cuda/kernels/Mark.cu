#include "runtime/device/cuda/kernels/Mark.h"

#include "runtime/device/cuda/kernels/Launch.h"

namespace shardc::runtime::cuda {

static __global__ void markKernel(unsigned *word, unsigned value) {
  *static_cast<volatile unsigned *>(word) = value;
}

Status mark(unsigned *word, unsigned value, cudaStream_t stream) {
  return launch(markKernel, {dim3(1), 1}, stream, word, value);
}

} // namespace shardc::runtime::cuda
