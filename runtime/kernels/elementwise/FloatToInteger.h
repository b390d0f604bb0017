//===- FloatToInteger.h - Floats as integers ------------------------------===//
#ifndef SHARDC_RUNTIME_KERNELS_ELEMENTWISE_FLOATTOINTEGER_H
#define SHARDC_RUNTIME_KERNELS_ELEMENTWISE_FLOATTOINTEGER_H

#include "runtime/base/HostDevice.h"

#include <cstdint>
#include <limits>
#include <type_traits>

namespace shardc::runtime::host {

/// Truncates towards zero. ONNX leaves open what becomes of a number that does
/// not fit, C++ of nearly all of them, and machines differ; everywhere it is
/// what ONNX Runtime gives on x86-64, where it always gives the same: through
/// 32 bits, or 64 where To needs them, of which what does not fit is the least
/// number; unsigned and short types wrap around.
///
///   int8(300.7) = 44    int32(3e9) = -2^31    int16(inf) = 0
///   uint32(-1.0) = 2^32 - 1
template <typename To, typename From> SHARDC_HOST_DEVICE To truncate(From x) {
  static_assert(std::is_floating_point_v<From> && std::is_integral_v<To>);
  constexpr bool isShort =
      sizeof(To) < 4 || (sizeof(To) == 4 && std::is_signed_v<To>);
  using Through = std::conditional_t<isShort, int32_t, int64_t>;
  constexpr From kEnd =
      isShort ? From(2147483648.) : From(9223372036854775808.);
  if constexpr (std::is_same_v<To, uint64_t>)
    if (x >= kEnd && x < 2 * kEnd)
      return static_cast<To>(x);
  return static_cast<To>(x >= -kEnd && x < kEnd
                             ? static_cast<Through>(x)
                             : std::numeric_limits<Through>::min());
}

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_ELEMENTWISE_FLOATTOINTEGER_H
