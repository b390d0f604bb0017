//===- ThreadedLoop.h - A loop nest on the threads of a rank --------------===//
//
// As StridedLoop.h's loops, in as many parts as their work is worth: ranges of
// the outermost dim that has enough for all threads. Bodies run at the same
// time, so what one writes no other may touch.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_KERNELS_HOST_THREADEDLOOP_H
#define SHARDC_RUNTIME_KERNELS_HOST_THREADEDLOOP_H

#include "runtime/kernels/StridedLoop.h"
#include "runtime/kernels/host/KernelThreads.h"

namespace shardc::runtime::host {

/// One dim of a nest in ranges.
template <int N> class SplitNest {
public:
  /// `width`: elements that each step of the innermost dim stands for; 0 where
  /// no two steps may be at the same time.
  SplitNest(const LoopNest<N> &nest, int64_t width) : nest(nest) {
    int64_t steps = 1;
    for (int d = 0; d < nest.rank; ++d)
      steps *= nest.dims[d];
    const int64_t wanted = threadsFor(steps, steps * width);
    for (int d = 1; d < nest.rank && nest.dims[dim] < wanted; ++d)
      if (nest.dims[d] > nest.dims[dim])
        dim = d;
    count = std::clamp<int64_t>(nest.dims[dim], 1, wanted);
  }

  int64_t parts() const { return count; }
  /// Of it, and where it starts in each view.
  LoopNest<N> part(int64_t number, int64_t (&offsets)[N]) const {
    LoopNest<N> part = nest;
    const int64_t begin = boundary(number);
    part.dims[dim] = boundary(number + 1) - begin;
    for (int v = 0; v < N; ++v)
      offsets[v] = begin * nest.strides[v][dim];
    return part;
  }

private:
  /// Whole vectors and cache lines where there are many.
  int64_t boundary(int64_t number) const {
    const int64_t size = nest.dims[dim], at = size * number / count;
    return number < count && size >= 64 * count ? at / 16 * 16 : at;
  }

  const LoopNest<N> &nest;
  int dim = 0;
  int64_t count = 1;
};

/// forEachRow, of bodies that see `width` elements at each step.
template <int N, typename Body>
void forEachRowOnThreads(const LoopNest<N> &nest, Body &&body,
                         int64_t width = 1) {
  const SplitNest<N> split(nest, width);
  if (split.parts() == 1)
    return forEachRow(nest, body);
  forEachPart(split.parts(), [&](int64_t number) {
    int64_t first[N];
    forEachRow(split.part(number, first),
               [&](const int64_t (&at)[N], int64_t count) {
                 int64_t offsets[N];
                 for (int v = 0; v < N; ++v)
                   offsets[v] = first[v] + at[v];
                 body(offsets, count);
               });
  });
}

/// forEachIndex, of bodies that see `width` elements.
template <int N, typename Body>
void forEachIndexOnThreads(const LoopNest<N> &nest, int64_t width,
                           Body &&body) {
  const SplitNest<N> split(nest, width);
  if (split.parts() == 1)
    return forEachIndex(nest, body);
  forEachPart(split.parts(), [&](int64_t number) {
    int64_t first[N];
    forEachIndex(split.part(number, first), [&](const int64_t (&at)[N]) {
      int64_t offsets[N];
      for (int v = 0; v < N; ++v)
        offsets[v] = first[v] + at[v];
      body(offsets);
    });
  });
}

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_HOST_THREADEDLOOP_H
