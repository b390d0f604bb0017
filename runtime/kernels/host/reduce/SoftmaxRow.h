//===- SoftmaxRow.h - Softmax of one row ----------------------------------===//
//
// Shared by Softmax and Attention. Maximum and sum go through independent
// lanes, in an order that depends on the row's length alone.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_KERNELS_HOST_REDUCE_SOFTMAXROW_H
#define SHARDC_RUNTIME_KERNELS_HOST_REDUCE_SOFTMAXROW_H

#include "runtime/kernels/StorageTypes.h"
#include "runtime/kernels/elementwise/FloatMath.h"

#include <cstdint>
#include <limits>

namespace shardc::runtime::host {

inline constexpr int kSoftmaxLanes = 8;

/// -inf if there is nothing; NaN if any element is.
template <typename T>
Compute<T> maximumOf(const T *x, int64_t stride, int64_t count) {
  using C = Compute<T>;
  C lanes[kSoftmaxLanes];
  for (C &lane : lanes)
    lane = -std::numeric_limits<C>::infinity();
  const auto raise = [](C &lane, C value) {
    lane = value > lane || value != value ? value : lane;
  };
  int64_t i = 0;
  if (stride == 1)
    for (; i + kSoftmaxLanes <= count; i += kSoftmaxLanes)
      for (int lane = 0; lane < kSoftmaxLanes; ++lane)
        raise(lanes[lane], C(x[i + lane]));
  for (; i < count; ++i)
    raise(lanes[0], C(x[i * stride]));
  for (int lane = 1; lane < kSoftmaxLanes; ++lane)
    raise(lanes[0], lanes[lane]);
  return lanes[0];
}

template <typename C> C sumOf(const C *x, int64_t stride, int64_t count) {
  double lanes[kSoftmaxLanes] = {};
  int64_t i = 0;
  if (stride == 1)
    for (; i + kSoftmaxLanes <= count; i += kSoftmaxLanes)
      for (int lane = 0; lane < kSoftmaxLanes; ++lane)
        lanes[lane] += x[i + lane];
  for (; i < count; ++i)
    lanes[0] += x[i * stride];
  double sum = 0;
  for (double lane : lanes)
    sum += lane;
  return C(sum);
}

/// For float and double, whose output keeps what was summed. out may be x.
/// `rest` is what else the total counts.
template <typename C>
void softmaxRow(C *out, int64_t outStride, const C *x, int64_t stride,
                int64_t count, C maximum, C rest = 0) {
  if (outStride == 1 && stride == 1) {
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i)
      out[i] = exponential(x[i] - maximum);
  } else {
    for (int64_t i = 0; i < count; ++i)
      out[i * outStride] = exponential(x[i * stride] - maximum);
  }
  const C total = sumOf(out, outStride, count) + rest;
  for (int64_t i = 0; i < count; ++i)
    out[i * outStride] /= total;
}

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_HOST_REDUCE_SOFTMAXROW_H
