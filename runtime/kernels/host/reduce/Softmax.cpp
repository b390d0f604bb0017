//===- Softmax.cpp - Softmax and LogSoftmax along one axis ----------------===//
//
// The maximum is subtracted, so nothing overflows; a row of -inf alone gives
// NaN, as exp(-inf - -inf) does. Sums are taken in double, in a fixed order.
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/Dispatch.h"
#include "runtime/kernels/host/ThreadedLoop.h"
#include "runtime/kernels/host/reduce/SoftmaxRow.h"

#include <cmath>

namespace shardc::runtime::host {
namespace {

/// Halves would round twice if the output held the exponentials.
template <typename T>
void softmaxOfHalves(T *out, int64_t outStride, const T *x, int64_t stride,
                     int64_t count, float maximum) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i)
    sum += exponential(float(x[i * stride]) - maximum);
  const float total = float(sum);
  for (int64_t i = 0; i < count; ++i)
    out[i * outStride] = T(exponential(float(x[i * stride]) - maximum) / total);
}

template <typename T>
void logSoftmaxRow(T *out, int64_t outStride, const T *x, int64_t stride,
                   int64_t count, Compute<T> maximum) {
  using C = Compute<T>;
  double sum = 0;
  for (int64_t i = 0; i < count; ++i)
    sum += exponential(C(x[i * stride]) - maximum);
  const C logarithm = C(std::log(sum));
  for (int64_t i = 0; i < count; ++i)
    out[i * outStride] = T(C(x[i * stride]) - maximum - logarithm);
}

template <bool Log> Status run(const KernelCall &call) {
  const char *name = Log ? "LogSoftmax" : "Softmax";
  SHARDC_RETURN_IF_ERROR(expectAlike(call, name, 1));
  const TensorView &x = call.inputs[0], &out = call.outputs[0];
  int axis = 0;
  SHARDC_RETURN_IF_ERROR(readAxis(call, name, x.rank, axis));
  return dispatch(FloatTypes(), x.element, name, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const int64_t count = x.dims[axis];
    const int64_t outStride = out.strides[axis], stride = x.strides[axis];
    const auto rows = nestOf(withoutDim(out, axis), withoutDim(x, axis));
    forEachIndexOnThreads(rows, count, [&](const int64_t (&at)[2]) {
      T *to = out.as<T>() + at[0];
      const T *from = x.as<T>() + at[1];
      const auto maximum = maximumOf(from, stride, count);
      if constexpr (Log)
        logSoftmaxRow(to, outStride, from, stride, count, maximum);
      else if constexpr (std::is_same_v<Compute<T>, T>)
        softmaxRow(to, outStride, from, stride, count, maximum);
      else
        softmaxOfHalves(to, outStride, from, stride, count, maximum);
    });
  });
}

const HostKernelRegistration registrations[] = {
    {"Softmax", {run<false>, nullptr}},
    {"LogSoftmax", {run<true>, nullptr}},
};

} // namespace
} // namespace shardc::runtime::host
