//===- IndexTuple.h - Tuples of indices, as kernels read them -------------===//
#ifndef SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_INDEX_INDEXTUPLE_H
#define SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_INDEX_INDEXTUPLE_H

#include "runtime/device/cuda/kernels/Fault.h"
#include "runtime/device/cuda/kernels/index/OutOfRange.h"
#include "runtime/kernels/index/IndexReader.h"

namespace shardc::runtime::cuda {

/// Indices into `size` dims of a view, `gap` from one to the next.
struct IndexTuple {
  int size = 0;
  int64_t gap = 0;
  int64_t dims[kMaxRank] = {}, strides[kMaxRank] = {};

  /// Into the dims of `view` from `first` on, one for each index of the last
  /// dim.
  IndexTuple(const TensorView &indices, const TensorView &view, int first)
      : size(static_cast<int>(indices.dims[indices.rank - 1])),
        gap(indices.strides[indices.rank - 1]) {
    for (int i = 0; i < size; ++i) {
      dims[i] = view.dims[first + i];
      strides[i] = view.strides[first + i];
    }
  }

  /// Adds what the tuple at `at` stands for; false where it is out of range.
  __device__ bool addOffset(const host::IndexReader &indices, int64_t at,
                            int64_t &offset) const {
    for (int i = 0; i < size; ++i) {
      const int64_t index = indices.wrapped(at + i * gap, dims[i]);
      if (index < 0 || index >= dims[i])
        return false;
      offset += index * strides[i];
    }
    return true;
  }
};

} // namespace shardc::runtime::cuda

#endif // SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_INDEX_INDEXTUPLE_H
