//===- Normalization.cpp - LayerNormalization and RMSNormalization --------===//
//
// A row is everything from `axis` on. Statistics are summed in double, in
// strips of a fixed order, so a row gives the same bits on every rank.
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/Dispatch.h"
#include "runtime/kernels/host/ThreadedLoop.h"
#include "runtime/kernels/norm/NormalizationOperands.h"

#include <cmath>

namespace shardc::runtime::host {
namespace {

/// Sum of term(x) over a row.
template <typename T, typename Term>
double sumOver(const LoopNest<1> &nest, const T *x, Term term) {
  constexpr int kLanes = 8;
  double lanes[kLanes] = {};
  const int64_t stride = nest.innerStride(0);
  forEachRow(nest, [&](const int64_t (&at)[1], int64_t count) {
    const T *row = x + at[0];
    int64_t i = 0;
    if (stride == 1)
      for (; i + kLanes <= count; i += kLanes)
        for (int lane = 0; lane < kLanes; ++lane)
          lanes[lane] += term(Compute<T>(row[i + lane]));
    for (; i < count; ++i)
      lanes[0] += term(Compute<T>(row[i * stride]));
  });
  double sum = 0;
  for (double lane : lanes)
    sum += lane;
  return sum;
}

/// y = (x - mean) * factor * scale + bias; null where there is no such term.
/// Without bias the rest is rounded to T before its scale, as in ONNX's
/// function body of RMSNormalization.
template <typename T>
void normalizeRow(const LoopNest<4> &nest, T *y, const T *x, const T *scale,
                  const T *bias, Compute<T> mean, Compute<T> factor) {
  using C = Compute<T>;
  const int64_t sy = nest.innerStride(0), sx = nest.innerStride(1);
  const int64_t ss = nest.innerStride(2), sb = nest.innerStride(3);
  forEachRow(nest, [&](const int64_t (&at)[4], int64_t count) {
    T *o = y + at[0];
    const T *a = x + at[1], *s = scale + at[2];
    const T *b = bias ? bias + at[3] : nullptr;
    if (sy == 1 && sx == 1 && ss == 1 && (!b || sb == 1)) {
      if (b) {
#pragma GCC ivdep
        for (int64_t i = 0; i < count; ++i)
          o[i] = T((C(a[i]) - mean) * factor * C(s[i]) + C(b[i]));
      } else {
#pragma GCC ivdep
        for (int64_t i = 0; i < count; ++i)
          o[i] = T(C(T((C(a[i]) - mean) * factor)) * C(s[i]));
      }
      return;
    }
    for (int64_t i = 0; i < count; ++i) {
      const C value = (C(a[i * sx]) - mean) * factor, weight = C(s[i * ss]);
      o[i * sy] = T(b ? value * weight + C(b[i * sb]) : C(T(value)) * weight);
    }
  });
}

template <typename T, bool Centered>
void normalize(const NormalizationOperands &o) {
  using C = Compute<T>;
  const auto part = [&](const TensorView &view) {
    return dimsOf(view, o.axis, o.x.rank);
  };
  const auto row = nestOf(part(o.x));
  const auto full = nestOf(part(o.y), part(o.x), o.scale, o.bias);
  const auto rows =
      nestOf(dimsOf(o.y, 0, o.axis), dimsOf(o.x, 0, o.axis), o.mean, o.inverse);
  const int64_t count = part(o.x).numElements();
  const double size = double(count);
  forEachIndexOnThreads(rows, count, [&](const int64_t (&at)[4]) {
    const T *x = o.x.as<T>() + at[1];
    C mean = 0;
    if constexpr (Centered)
      mean = C(sumOver(row, x, [](C v) { return v; }) / size);
    const double variance =
        sumOver(row, x, [=](C v) { return (v - mean) * (v - mean); }) / size;
    const C inverse = C(1) / std::sqrt(C(variance) + C(o.epsilon));
    normalizeRow(full, o.y.as<T>() + at[0], x, o.scale.as<T>(),
                 o.bias.data ? o.bias.as<T>() : nullptr, mean, inverse);
    // Both are float outputs whatever X holds, unless X is double.
    using Statistic = std::conditional_t<sizeof(C) == 8, double, float>;
    if (o.mean.data)
      o.mean.as<Statistic>()[at[2]] = mean;
    if (o.inverse.data)
      o.inverse.as<Statistic>()[at[3]] = inverse;
  });
}

template <bool Centered> Status run(const KernelCall &call) {
  const char *name = Centered ? "LayerNormalization" : "RMSNormalization";
  NormalizationOperands o;
  SHARDC_RETURN_IF_ERROR(readNormalization(call, name, o));
  return dispatch(FloatTypes(), o.x.element, name, [&](auto tag) {
    normalize<typename decltype(tag)::Type, Centered>(o);
  });
}

const HostKernelRegistration registrations[] = {
    {"LayerNormalization", {run<true>, nullptr}},
    {"RMSNormalization", {run<false>, nullptr}},
};

} // namespace
} // namespace shardc::runtime::host
