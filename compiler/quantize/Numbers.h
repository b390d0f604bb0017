//===- Numbers.h - Floats in fewer bits -----------------------------------===//
//
// How a group of weights is rounded. Integers of b bits have no zero point; the
// number that is furthest from 0 becomes the least integer, so that all of them
// are used, as in MatMulNBits of ONNX Runtime and Q4_0 of llama.cpp:
//
//   int4 of 0.7 -1.4 2.8 0      scale = 2.8 / -8     -2 4 -8 0
//   e4m3                        scale = 2.8 / 448    what is nearest to x / scale
//
// Scales are rounded to the model's type before anything is divided by them.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_COMPILER_QUANTIZE_NUMBERS_H
#define SHARDC_COMPILER_QUANTIZE_NUMBERS_H

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace shardc::quantize {

/// To the nearest integer, half to even, of less than 2^22. Loops over it are
/// made of vector instructions, which a call of the library would end.
inline float roundToEven(float x) {
  constexpr float shift = 0x1.8p23f;
  return (x + shift) - shift;
}

/// Of the least number, or 0, and the most: that further from 0, of both the
/// one above.
inline float furthestOf(float least, float most) {
  return most >= -least ? most : least;
}

/// Of what is furthest from 0, with its sign.
inline float integerScale(float furthest, int bits) {
  return furthest / -static_cast<float>(1 << (bits - 1));
}
inline float float8Scale(float furthest) { return std::fabs(furthest) / 448; }

/// Nothing to divide by: all that it is the scale of is as good as 0.
inline float divisorOf(float scale) { return scale == 0 ? 1 : scale; }

/// An integer of `bits` bits, in the low ones.
template <int bits> uint8_t encodeInteger(float x, float divisor) {
  constexpr auto most = static_cast<float>((1 << (bits - 1)) - 1);
  const float rounded =
      roundToEven(std::min(std::max(x / divisor, -most - 1), most));
  return static_cast<uint8_t>(static_cast<int32_t>(rounded)) &
         static_cast<uint8_t>((1 << bits) - 1);
}

/// E4M3FN, to nearest even; what is too large is the largest.
inline uint8_t encodeFloat8(float x, float divisor) {
  const float quotient = x / divisor;
  const uint32_t bits = std::bit_cast<uint32_t>(quotient);
  const auto sign = static_cast<uint8_t>((bits >> 24) & 0x80);
  const float magnitude = std::min(std::fabs(quotient), 448.0f);
  // Below 2^-6 numbers are multiples of 2^-9, the last place of 2^14.
  if (magnitude < 0x1p-6f)
    return sign |
           static_cast<uint8_t>(std::bit_cast<uint32_t>(magnitude + 0x1p14f) -
                                std::bit_cast<uint32_t>(0x1p14f));
  const uint32_t m = std::bit_cast<uint32_t>(magnitude);
  const uint32_t rounded = m + 0x7ffffu + ((m >> 20) & 1);
  return sign | static_cast<uint8_t>((rounded - (120u << 23)) >> 20);
}

} // namespace shardc::quantize

#endif // SHARDC_COMPILER_QUANTIZE_NUMBERS_H
