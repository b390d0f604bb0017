//===- Nest.h - Strided views that are walked together --------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_LAYOUT_NEST_H
#define SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_LAYOUT_NEST_H

#include "runtime/device/cuda/kernels/Launch.h"
#include "runtime/kernels/Kernel.h"

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
    // A division of 64 bits takes several times as long as one of 32.
    if (count >> 32 == 0)
      walk(static_cast<uint32_t>(index), at);
    else
      walk(static_cast<uint64_t>(index), at);
  }
  /// One thread an element.
  Grid grid() const { return {dim3(blocksFor(count))}; }

private:
  template <typename Index>
  __device__ void walk(Index index, int64_t (&at)[N]) const {
    for (int v = 0; v < N; ++v)
      at[v] = 0;
    for (int d = rank - 1; d >= 0; --d) {
      const Index size = static_cast<Index>(dims[d]);
      const Index rest = d > 0 ? index / size : 0;
      const auto coordinate = static_cast<int64_t>(index - rest * size);
      index = rest;
      for (int v = 0; v < N; ++v)
        at[v] += coordinate * strides[v][d];
    }
  }
};

/// Precondition: the other views have at least the dims of the first.
template <typename... Views>
Nest<1 + sizeof...(Views)> nestOf(const TensorView &first,
                                  const Views &...others) {
  Nest<1 + sizeof...(Views)> nest;
  for (int d = 0; d < first.rank; ++d)
    nest.append(first.dims[d], {first.strides[d], others.strides[d]...});
  return nest;
}

} // namespace shardc::runtime::cuda

#endif // SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_LAYOUT_NEST_H
