//===- Float8.h - Eight bits of float, as doubles and back ----------------===//
//
// The formats of ONNX: sign, exponent, mantissa, in which FN has no infinity
// and FNUZ no negative zero either. Example, E4M3FN: 448 is the largest value,
// 449 saturates to it or becomes NaN, and 0x7f is NaN.
//
// E8M0 is an exponent alone: 2^(byte - 127), 0xff is NaN.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_BASE_FLOAT8_H
#define SHARDC_RUNTIME_BASE_FLOAT8_H

#include "runtime/base/HostDevice.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace shardc::runtime {

struct Float8Format {
  int mantissaBits;
  int leastExponent; ///< of normal numbers
  double largest;
  uint8_t nan;      ///< the sign of E4M3FN's and E5M2's is free
  uint8_t overflow; ///< what a number too large becomes unless it saturates
  bool hasNegativeZero;
};

inline constexpr Float8Format kFloat8E4M3FN = {3, -6, 448, 0x7f, 0x7f, true};
inline constexpr Float8Format kFloat8E4M3FNUZ = {3, -7, 240, 0x80, 0x80, false};
inline constexpr Float8Format kFloat8E5M2 = {2, -14, 57344, 0x7e, 0x7c, true};
inline constexpr Float8Format kFloat8E5M2FNUZ = {2,    -15,  57344,
                                                 0x80, 0x80, false};

SHARDC_HOST_DEVICE inline double decodeFloat8(const Float8Format &format,
                                              uint8_t byte) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  if (!format.hasNegativeZero && byte == format.nan)
    return nan;
  const int bits = byte & 0x7f, mantissaBits = format.mantissaBits;
  const int exponent = bits >> mantissaBits;
  const int fraction = bits & ((1 << mantissaBits) - 1);
  const int hidden = exponent > 0 ? 1 << mantissaBits : 0;
  const double value =
      std::ldexp(fraction + hidden, std::max(exponent, 1) - 1 +
                                        format.leastExponent - mantissaBits);
  const double magnitude =
      value <= format.largest ? value
      : (byte & 0x7f) == format.overflow && format.overflow != format.nan
          ? std::numeric_limits<double>::infinity()
          : nan;
  return byte & 0x80 ? -magnitude : magnitude;
}

/// Reads bytes of a format as floats by moving bits: as fast as kernels need
/// it.
class Float8Decoder {
public:
  constexpr explicit Float8Decoder(const Float8Format &format)
      : mantissaBits(format.mantissaBits),
        bias(static_cast<uint32_t>(126 + format.leastExponent) << 23),
        overflow(format.overflow), nan(format.nan),
        hasNegativeZero(format.hasNegativeZero) {
    for (int i = format.leastExponent; i < format.mantissaBits; ++i)
      unit /= 2;
  }

  SHARDC_HOST_DEVICE constexpr float operator()(uint8_t byte) const {
    const uint32_t bits = byte & 0x7f;
    float magnitude =
        bits >> mantissaBits != 0
            ? __builtin_bit_cast(float, (bits << (23 - mantissaBits)) + bias)
            : static_cast<float>(bits) * unit;
    if (hasNegativeZero ? bits >= overflow : byte == nan)
      magnitude = __builtin_bit_cast(float, bits == overflow && overflow != nan
                                                ? 0x7f800000u
                                                : 0x7fc00000u);
    return byte & 0x80 ? -magnitude : magnitude;
  }

private:
  int mantissaBits;
  uint32_t bias;
  float unit = 1; ///< of numbers below the normal ones
  uint8_t overflow, nan;
  bool hasNegativeZero;
};

/// Rounds a finite magnitude to nearest even: the value, and the bits for it.
SHARDC_HOST_DEVICE inline double roundFloat8(const Float8Format &format,
                                             double magnitude, int &bits) {
  bits = 0;
  if (magnitude == 0) // has no exponent
    return 0;
  int exponent = 0;
  std::frexp(magnitude, &exponent); // magnitude < 2^exponent
  exponent = std::max(exponent - 1, format.leastExponent);
  // Of one unit in the last place; rounds half to even.
  const double units =
      std::nearbyint(std::ldexp(magnitude, format.mantissaBits - exponent));
  // A mantissa that carried is the next exponent's.
  bits = ((exponent - format.leastExponent) << format.mantissaBits) +
         static_cast<int>(units);
  return std::ldexp(units, exponent - format.mantissaBits);
}

/// Rounds to nearest even. The sign is said apart from x: GPUs do not keep that
/// of a NaN which they convert.
SHARDC_HOST_DEVICE inline uint8_t encodeFloat8(const Float8Format &format,
                                               double x, bool isNegative,
                                               bool saturate) {
  const auto sign = static_cast<uint8_t>(isNegative ? 0x80 : 0);
  if (std::isnan(x))
    return format.hasNegativeZero ? sign | format.nan : format.nan;
  int bits = 0;
  if (std::isinf(x) ||
      roundFloat8(format, std::fabs(x), bits) > format.largest) {
    if (!saturate)
      return format.hasNegativeZero ? sign | format.overflow : format.overflow;
    roundFloat8(format, format.largest, bits);
  }
  return static_cast<uint8_t>(
      bits == 0 && !format.hasNegativeZero ? 0 : sign | bits);
}

SHARDC_HOST_DEVICE inline uint8_t encodeFloat8(const Float8Format &format,
                                               double x, bool saturate) {
  return encodeFloat8(format, x, std::signbit(x), saturate);
}

SHARDC_HOST_DEVICE inline double decodeFloat8E8M0(uint8_t byte) {
  return byte == 0xff ? std::numeric_limits<double>::quiet_NaN()
                      : std::ldexp(1.0, byte - 127);
}

enum class ExponentRounding : uint8_t { Up, Down, Nearest };

SHARDC_HOST_DEVICE inline uint8_t encodeFloat8E8M0(double x, bool saturate,
                                                   ExponentRounding rounding) {
  constexpr uint8_t nan = 0xff;
  if (std::isnan(x))
    return nan;
  if (!(x > 0))
    return saturate ? 0 : nan;
  if (std::isinf(x))
    return saturate ? 0xfe : nan;
  int exponent = 0;
  const double fraction = 2 * std::frexp(x, &exponent); // in [1, 2)
  const bool up = rounding == ExponentRounding::Up        ? fraction > 1
                  : rounding == ExponentRounding::Nearest ? fraction >= 1.5
                                                          : false;
  const int byte = exponent - 1 + 127 + (up ? 1 : 0);
  if (byte < 0 || byte > 0xfe)
    return saturate ? static_cast<uint8_t>(std::clamp(byte, 0, 0xfe)) : nan;
  return static_cast<uint8_t>(byte);
}

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_BASE_FLOAT8_H
