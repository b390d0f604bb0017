//===- Nest.h - Strided views that are walked together --------------------===//
#ifndef SHARDC_RUNTIME_BACKEND_CUDA_KERNELS_NEST_H
#define SHARDC_RUNTIME_BACKEND_CUDA_KERNELS_NEST_H

#include "runtime/backend/cuda/kernels/Launch.h"
#include "runtime/exec/Kernel.h"

namespace shardc::runtime::cuda {

/// N views of the same dims, walked by the row-major number of an element.
template <int N> struct Nest {
  int rank = 0;
  int64_t count = 1;
  int64_t dims[kMaxRank] = {};
  int64_t strides[N][kMaxRank] = {};

  /// Dims of size 1 go; a dim that continues the one before it in all views
  /// joins it.
  void append(int64_t size, const int64_t (&at)[N]) {
    count *= size;
    if (size == 1)
      return;
    bool joins = rank > 0;
    for (int v = 0; v < N && joins; ++v)
      joins = strides[v][rank - 1] == at[v] * size;
    if (joins)
      dims[rank - 1] *= size;
    else
      dims[rank++] = size;
    for (int v = 0; v < N; ++v)
      strides[v][rank - 1] = at[v];
  }
  __device__ void offsets(int64_t index, int64_t (&at)[N]) const {
    for (int v = 0; v < N; ++v)
      at[v] = 0;
    for (int d = rank - 1; d >= 0; --d) {
      const int64_t coordinate = index % dims[d];
      index /= dims[d];
      for (int v = 0; v < N; ++v)
        at[v] += coordinate * strides[v][d];
    }
  }
  /// One thread an element.
  Grid grid() const { return {dim3(blocksFor(count))}; }
};

} // namespace shardc::runtime::cuda

#endif // SHARDC_RUNTIME_BACKEND_CUDA_KERNELS_NEST_H
