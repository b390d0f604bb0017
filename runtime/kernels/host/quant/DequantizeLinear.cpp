//===- DequantizeLinear.cpp - (x - zero point) * scale --------------------===//
//
// Zero points are of x's type, or numbers of the scale's.
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/product/IntegerReader.h"
#include "runtime/kernels/quant/Quantized.h"

namespace shardc::runtime::host {
namespace {

constexpr char kName[] = "DequantizeLinear";

template <typename T> class NumberReader {
public:
  explicit NumberReader(const TensorView &view) : data(view.as<T>()) {}
  Compute<T> operator[](int64_t offset) const { return data[offset]; }

private:
  const T *data;
};

/// Zero everywhere.
struct NoZeroPoint {
  explicit NoZeroPoint(const TensorView &) {}
  int operator[](int64_t) const { return 0; }
};

/// A row with one scale and zero point.
template <typename T, typename Reader>
void dequantizeRow(const Reader &x, int64_t first, int64_t stride,
                   int64_t count, Compute<T> zero, Compute<T> scale, T *out,
                   int64_t outStride) {
  using C = Compute<T>;
  if constexpr (requires { Reader::kValues; }) {
    if (stride == 1) { // few values, each computed once
      T numbers[Reader::kValues];
      for (unsigned bits = 0; bits < Reader::kValues; ++bits)
        numbers[bits] = T((C(Reader::valueOf(bits)) - zero) * scale);
      x.forEach(first, count, [&](int64_t i, unsigned bits) {
        out[i * outStride] = numbers[bits];
      });
      return;
    }
  }
  for (int64_t i = 0; i < count; ++i)
    out[i * outStride] = T((C(x[first + i * stride]) - zero) * scale);
}

template <typename T, typename Reader, typename Zeros>
Status dequantizeAs(const KernelCall &call, std::string_view kernel,
                    const QuantizedViews &views) {
  using C = Compute<T>;
  const Reader x(views.data);
  const Zeros zeros(views.zeroPoint);
  const auto row = [&](const int64_t (&at)[4], const int64_t (&stride)[4],
                       int64_t count) {
    T *out = views.result.as<T>() + at[0];
    const T *scale = views.scale.as<T>() + at[2];
    if (stride[2] == 0 && stride[3] == 0) {
      dequantizeRow<T>(x, at[1], stride[1], count, C(zeros[at[3]]), C(*scale),
                       out, stride[0]);
      return;
    }
    for (int64_t i = 0; i < count; ++i)
      out[i * stride[0]] =
          T(C(x[at[1] + i * stride[1]] - zeros[at[3] + i * stride[3]]) *
            C(scale[i * stride[2]]));
  };
  return forEachQuantizedRow(call, kernel, views, row);
}

Status run(const KernelCall &call) {
  QuantizedViews views;
  SHARDC_RETURN_IF_ERROR(readQuantized(call, kName, views));
  return dequantize(call, kName, views);
}

const HostKernelRegistration registration(kName, {run, nullptr});

} // namespace

Status dequantize(const KernelCall &call, std::string_view kernel,
                  const QuantizedViews &views) {
  const auto element = views.result.element;
  SHARDC_RETURN_IF_ERROR(expectElement(kernel, element, views.scale));
  const bool hasNumbers =
      views.hasZeroPoint && views.zeroPoint.element == element;
  if (views.hasZeroPoint && !hasNumbers)
    SHARDC_RETURN_IF_ERROR(
        expectElement(kernel, views.data.element, views.zeroPoint));
  return dispatch(FloatTypes(), element, kernel, [&](auto to) {
    using T = typename decltype(to)::Type;
    return dispatchQuantized(views.data.element, kernel, [&](auto x) {
      using Reader = typename decltype(x)::Type;
      if (hasNumbers)
        return dequantizeAs<T, Reader, NumberReader<T>>(call, kernel, views);
      return views.hasZeroPoint
                 ? dequantizeAs<T, Reader, Reader>(call, kernel, views)
                 : dequantizeAs<T, Reader, NoZeroPoint>(call, kernel, views);
    });
  });
}

} // namespace shardc::runtime::host
