//===- PowFunctions.h - Powers of elements --------------------------------===//
//
// Base and exponent may differ in type.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_KERNELS_ELEMENTWISE_POWFUNCTIONS_H
#define SHARDC_RUNTIME_KERNELS_ELEMENTWISE_POWFUNCTIONS_H

#include "runtime/kernels/Dispatch.h"

#include <cmath>
#include <limits>

namespace shardc::runtime::host {

using PowBaseTypes = decltype(FloatTypes() + IndexTypes());
using PowExponentTypes = decltype(FloatTypes() + IntegerTypes());

/// An integer exponent below 0 yields 0 unless the base is 1 or -1.
template <typename T>
SHARDC_HOST_DEVICE T integerPower(T base, int64_t exponent) {
  if (exponent < 0)
    return base == 1       ? T(1)
           : base == T(-1) ? (exponent % 2 ? T(-1) : T(1))
                           : T(0);
  uint64_t result = 1, factor = static_cast<uint64_t>(base);
  for (; exponent > 0; exponent >>= 1) {
    result *= exponent & 1 ? factor : 1;
    factor *= factor;
  }
  return T(result);
}

/// What does not fit is the least number, as ONNX Runtime has it on x86-64. A
/// whole power is rounded, since a GPU's is a little less at times.
template <typename T>
SHARDC_HOST_DEVICE T integerPower(T base, double exponent) {
  double result = std::pow(double(base), exponent);
  if (exponent >= 0 && std::rint(exponent) == exponent)
    result = std::rint(result);
  constexpr double kEnd = double(uint64_t{1} << (8 * sizeof(T) - 1));
  return result >= -kEnd && result < kEnd ? T(result)
                                          : std::numeric_limits<T>::min();
}

template <typename T, typename E>
SHARDC_HOST_DEVICE T power(T base, E exponent) {
  if constexpr (std::is_integral_v<T> && std::is_integral_v<E>)
    return integerPower(base, int64_t(exponent));
  else if constexpr (std::is_integral_v<T>)
    return integerPower(base, double(exponent));
  else
    return std::pow(base, T(exponent));
}

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_ELEMENTWISE_POWFUNCTIONS_H
