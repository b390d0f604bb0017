//===- Mark.h - How far a stream has come ---------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_MARK_H
#define SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_MARK_H

#include "runtime/base/Status.h"

#include <cuda_runtime_api.h>

namespace shardc::runtime::cuda {

/// Sets a word of pinned memory, which the host may read at any time.
Status mark(unsigned *word, unsigned value, cudaStream_t stream);

} // namespace shardc::runtime::cuda

#endif // SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_MARK_H
