//===- QuantizeLinear.cpp - round(x / scale) + zero point, clamped --------===//
//
// Rounds halves to even. What is not a number becomes the zero point.
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/Dispatch.h"
#include "runtime/kernels/host/KernelThreads.h"
#include "runtime/kernels/host/simd/Loops.h"
#include "runtime/kernels/quant/Quantized.h"

namespace shardc::runtime::host {
namespace {

constexpr char kName[] = "QuantizeLinear";
constexpr int64_t kLeast = 4096; ///< elements that a thread takes at once

using QuantizedTypes = TypeList<int8_t, uint8_t, int16_t, uint16_t>;

/// Elements that lie dense, one scale for all of them or one for each.
template <typename Q> void quantizeDense(const QuantizedRow &row) {
  const auto quantize = loops().quantizeRow.of<Q>();
  shareRanges(row.count, threadsFor(row.count, row.count), kLeast,
              [&](int64_t begin, int64_t end) {
                QuantizedRow part = row;
                part.x += begin;
                part.to += begin * int64_t(sizeof(Q));
                part.count = end - begin;
                if (row.hasColumns) {
                  part.scales += begin;
                  if (row.zeros)
                    part.zeros += begin * int64_t(sizeof(Q));
                }
                quantize(part);
              });
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
      if (stride[0] == 1 && stride[1] == 1 &&
          (stride[2] == 0 || stride[2] == 1) &&
          (!zeros || stride[3] == stride[2])) {
        const Q *zero = zeros ? zeros + at[3] : nullptr;
        return quantizeDense<Q>({x, count, stride[2] == 1, scale,
                                 reinterpret_cast<const std::byte *>(zero),
                                 reinterpret_cast<std::byte *>(out)});
      }
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
