//===- Halves.h - Moving elements of a part of a byte, on a GPU -----------===//
//
// A thread writes a byte, that is two elements or four: threads never share one. What
// is written has to be dense for that.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_ELEMENTWISE_HALVES_H
#define SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_ELEMENTWISE_HALVES_H

#include "runtime/device/cuda/kernels/layout/StridedKernels.h"

namespace shardc::runtime::cuda {

/// Error: `to` is not dense.
Status copyHalves(const TensorView &to, const TensorView &from,
                  cudaStream_t stream);

/// See gatherRows. Error: `out` is not dense, or data are a part of the table.
Status gatherHalves(const TensorView &out, const TensorView &data,
                    const TensorView &indices, const GatherRows &rows,
                    cudaStream_t stream);

} // namespace shardc::runtime::cuda

#endif // SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_ELEMENTWISE_HALVES_H
