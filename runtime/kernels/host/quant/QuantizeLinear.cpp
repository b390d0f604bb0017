//===- QuantizeLinear.cpp - round(x / scale) + zero point, clamped --------===//
//
// Rounds halves to even. What is not a number becomes the zero point.
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/Dispatch.h"
#include "runtime/kernels/host/KernelThreads.h"
#include "runtime/kernels/quant/Quantized.h"

namespace shardc::runtime::host {
namespace {

constexpr char kName[] = "QuantizeLinear";
constexpr int64_t kLeast = 4096; ///< elements that a thread takes at once

using QuantizedTypes = TypeList<int8_t, uint8_t, int16_t, uint16_t>;

/// quantizeOne without a call, which vectors have no use for: what is larger than
/// any Q stays so, and the last bit of what is added is worth 1.
template <typename Q> Q quantizeFloat(float x, float scale, float zero) {
  constexpr float limit = 1 << 20, magic = 12582912.f;
  constexpr float least = float(std::numeric_limits<Q>::min());
  constexpr float most = float(std::numeric_limits<Q>::max());
  float scaled = x / scale;
  scaled = scaled > limit ? limit : scaled < -limit ? -limit : scaled;
  float q = scaled + magic - magic + zero;
  q = q != q ? zero : q;
  q = q < least ? least : q > most ? most : q;
  return Q(int32_t(q));
}

template <typename Q>
void quantizeFloats(const float *x, int64_t count, float scale, float zero,
                    Q *out) {
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i)
    out[i] = quantizeFloat<Q>(x[i], scale, zero);
}

template <typename Q, typename X>
Status quantize(const KernelCall &call, const QuantizedViews &views) {
  using C = Compute<X>;
  const Q *zeros = views.hasZeroPoint ? views.zeroPoint.as<Q>() : nullptr;
  const auto row = [&](const int64_t (&at)[4], const int64_t (&stride)[4],
                       int64_t count) {
    Q *out = views.result.as<Q>() + at[0];
    const X *x = views.data.as<X>() + at[1];
    const X *scale = views.scale.as<X>() + at[2];
    if constexpr (std::is_same_v<X, float>)
      if (stride[0] == 1 && stride[1] == 1 && stride[2] == 0 &&
          (!zeros || stride[3] == 0))
        return shareRanges(count, threadsFor(count, count), kLeast,
                           [&](int64_t begin, int64_t end) {
                             quantizeFloats(x + begin, end - begin, *scale,
                                            zeros ? float(zeros[at[3]]) : 0,
                                            out + begin);
                           });
    for (int64_t i = 0; i < count; ++i) {
      const C zero = zeros ? C(zeros[at[3] + i * stride[3]]) : C(0);
      out[i * stride[0]] =
          quantizeOne<Q>(C(x[i * stride[1]]), C(scale[i * stride[2]]), zero);
    }
  };
  return forEachQuantizedRow(call, kName, views, row);
}

Status run(const KernelCall &call) {
  QuantizedViews views;
  SHARDC_RETURN_IF_ERROR(readQuantized(call, kName, views));
  SHARDC_RETURN_IF_ERROR(expectElement(kName, views.data.element, views.scale));
  if (views.hasZeroPoint)
    SHARDC_RETURN_IF_ERROR(
        expectElement(kName, views.result.element, views.zeroPoint));
  return dispatch(FloatTypes(), views.data.element, kName, [&](auto from) {
    using X = typename decltype(from)::Type;
    return dispatch(QuantizedTypes(), views.result.element, kName, [&](auto q) {
      return quantize<typename decltype(q)::Type, X>(call, views);
    });
  });
}

const HostKernelRegistration registration(kName, {run, nullptr});

} // namespace
} // namespace shardc::runtime::host
