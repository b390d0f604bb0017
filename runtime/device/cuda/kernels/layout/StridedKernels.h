//===- StridedKernels.h - What moves elements on a GPU --------------------===//
//
// One thread an element of the result, or up to 16 bytes of what lies side by
// side (WideNest.h); which elements of the operands it takes follows from
// strides. Views are the device's; element types may be any of a whole number
// of bytes.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_LAYOUT_STRIDEDKERNELS_H
#define SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_LAYOUT_STRIDEDKERNELS_H

#include "runtime/device/cuda/kernels/CallStream.h"

namespace shardc::runtime::cuda {

/// Same dims and element size; no overlap.
Status copyStrided(const TensorView &to, const TensorView &from,
                   cudaStream_t stream);

/// Zeros, of any element type.
Status clearStrided(const TensorView &to, cudaStream_t stream);

/// Rows of a table; see the host's Gather. `fault` is reported where an index
/// is out of range.
struct GatherRows {
  int axis = 0;
  int64_t base = 0;   ///< global row of data's first one
  int64_t global = 0; ///< rows of the whole table
  Fault fault;
};
Status gatherRows(const TensorView &out, const TensorView &data,
                  const TensorView &indices, const GatherRows &rows,
                  cudaStream_t stream);

/// past, then added, then zeros along dim 2 of four, from lengths[dim 0] on.
Status appendRows(const TensorView &out, const TensorView &past,
                  const TensorView &added, const TensorView &lengths,
                  const Fault &fault, cudaStream_t stream);

} // namespace shardc::runtime::cuda

#endif // SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_LAYOUT_STRIDEDKERNELS_H
