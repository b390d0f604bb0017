//===- DequantizeLinear.cpp - (x - zero point) * scale --------------------===//

#include "runtime/backend/host/kernels/Dispatch.h"
#include "runtime/backend/host/kernels/Quantized.h"

namespace shardc::runtime::host {
namespace {

constexpr char kName[] = "DequantizeLinear";

using QuantizedTypes =
    TypeList<int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t>;

template <typename T, typename X>
Status dequantize(const KernelCall &call, const QuantizedViews &views) {
  using C = Compute<T>;
  const X *zeros = views.hasZeroPoint ? views.zeroPoint.as<X>() : nullptr;
  const auto row = [&](const int64_t (&at)[4], const int64_t (&stride)[4],
                       int64_t count) {
    T *out = views.result.as<T>() + at[0];
    const X *x = views.data.as<X>() + at[1];
    const T *scale = views.scale.as<T>() + at[2];
    const X *zero = zeros ? zeros + at[3] : nullptr;
    if (stride[2] == 0 && stride[3] == 0) {
      const C s(*scale);
      const int64_t z = zero ? *zero : 0;
      for (int64_t i = 0; i < count; ++i)
        out[i * stride[0]] = T(C(x[i * stride[1]] - z) * s);
      return;
    }
    for (int64_t i = 0; i < count; ++i) {
      const int64_t z = zero ? zero[i * stride[3]] : 0;
      out[i * stride[0]] = T(C(x[i * stride[1]] - z) * C(scale[i * stride[2]]));
    }
  };
  return forEachQuantizedRow(call, kName, views, row);
}

Status run(const KernelCall &call) {
  QuantizedViews views;
  SHARDC_RETURN_IF_ERROR(readQuantized(call, kName, views));
  SHARDC_RETURN_IF_ERROR(
      expectElement(kName, views.result.element, views.scale));
  if (views.hasZeroPoint)
    SHARDC_RETURN_IF_ERROR(
        expectElement(kName, views.data.element, views.zeroPoint));
  return dispatch(FloatTypes(), views.result.element, kName, [&](auto to) {
    using T = typename decltype(to)::Type;
    return dispatch(QuantizedTypes(), views.data.element, kName, [&](auto x) {
      return dequantize<T, typename decltype(x)::Type>(call, views);
    });
  });
}

const HostKernelRegistration registration(kName, {run, nullptr});

} // namespace
} // namespace shardc::runtime::host
