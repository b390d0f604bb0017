//===- StridedLoop.h - One loop nest over several strided views -----------===//
//
// nestOf(out, a, b) merges neighbouring dims wherever all views allow it and
// drops dims of size 1, so the innermost loop is as long as it can be. Example,
// Add of x [2, 8, 96] (contiguous) and a bias [96] broadcast by stride 0:
//   dims {16, 96}, strides {96, 1} (out), {96, 1} (x), {0, 1} (bias)
// and forEachRow calls its body 16 times with the three offsets and 96.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_KERNELS_STRIDEDLOOP_H
#define SHARDC_RUNTIME_KERNELS_STRIDEDLOOP_H

#include "runtime/kernels/Kernel.h"

#include <cstdint>

namespace shardc::runtime::host {

/// Loops over N views with the same dims; rank is at least 1.
template <int N> struct LoopNest {
  int rank = 0;
  int64_t dims[kMaxRank] = {};
  int64_t strides[N][kMaxRank] = {};

  int64_t innerSize() const { return dims[rank - 1]; }
  int64_t innerStride(int view) const { return strides[view][rank - 1]; }
  bool isEmpty() const {
    for (int d = 0; d < rank; ++d)
      if (dims[d] == 0)
        return true;
    return false;
  }
};

/// Appends a dim inside of all others, merged into the one before if possible.
template <int N>
void appendDim(LoopNest<N> &nest, int64_t size, const int64_t (&strides)[N]) {
  if (size == 1)
    return;
  bool merge = nest.rank > 0;
  for (int v = 0; v < N && merge; ++v)
    merge = nest.strides[v][nest.rank - 1] == strides[v] * size;
  if (!merge)
    nest.dims[nest.rank++] = 1;
  nest.dims[nest.rank - 1] *= size;
  for (int v = 0; v < N; ++v)
    nest.strides[v][nest.rank - 1] = strides[v];
}

/// Loop of a single step for what has no dims left.
template <int N> void finishNest(LoopNest<N> &nest) {
  if (nest.rank > 0)
    return;
  nest.rank = 1;
  nest.dims[0] = 1;
  for (int v = 0; v < N; ++v)
    nest.strides[v][0] = 1;
}

/// Precondition: the other views have at least the dims of the first.
template <typename... Views>
LoopNest<1 + sizeof...(Views)> nestOf(const TensorView &first,
                                      const Views &...others) {
  LoopNest<1 + sizeof...(Views)> nest;
  for (int d = 0; d < first.rank; ++d)
    appendDim(nest, first.dims[d], {first.strides[d], others.strides[d]...});
  finishNest(nest);
  return nest;
}

/// Calls body(offsets, count) for each innermost row, in row-major order.
template <int N, typename Body>
void forEachRow(const LoopNest<N> &nest, Body &&body) {
  if (nest.isEmpty())
    return;
  int64_t index[kMaxRank] = {};
  int64_t offsets[N] = {};
  for (;;) {
    body(offsets, nest.innerSize());
    int d = nest.rank - 2;
    for (; d >= 0; --d) {
      for (int v = 0; v < N; ++v)
        offsets[v] += nest.strides[v][d];
      if (++index[d] < nest.dims[d])
        break;
      for (int v = 0; v < N; ++v)
        offsets[v] -= nest.strides[v][d] * nest.dims[d];
      index[d] = 0;
    }
    if (d < 0)
      return;
  }
}

/// Calls body(offsets) for each element, in row-major order.
template <int N, typename Body>
void forEachIndex(const LoopNest<N> &nest, Body &&body) {
  forEachRow(nest, [&](const int64_t (&row)[N], int64_t count) {
    int64_t offsets[N];
    for (int v = 0; v < N; ++v)
      offsets[v] = row[v];
    for (int64_t i = 0; i < count; ++i) {
      body(offsets);
      for (int v = 0; v < N; ++v)
        offsets[v] += nest.innerStride(v);
    }
  });
}

/// Dims [begin, end) of the view, from its first element on.
inline TensorView dimsOf(const TensorView &view, int begin, int end) {
  TensorView part;
  part.data = view.data;
  part.element = view.element;
  part.skipped = view.skipped;
  part.rank = end - begin;
  for (int d = begin; d < end; ++d) {
    part.dims[d - begin] = view.dims[d];
    part.strides[d - begin] = view.strides[d];
  }
  return part;
}

/// The view at index 0 of dim `axis`, which disappears.
inline TensorView withoutDim(const TensorView &view, int axis) {
  TensorView part = view;
  part.rank = view.rank - 1;
  for (int d = axis; d < part.rank; ++d) {
    part.dims[d] = view.dims[d + 1];
    part.strides[d] = view.strides[d + 1];
  }
  return part;
}

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_STRIDEDLOOP_H
