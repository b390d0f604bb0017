//===- Float16.h - Half and bfloat16, in f32 and back ---------------------===//
//
// Stored as their bits; computed in f32, rounded once to nearest even. NaN
// stays NaN, infinities and subnormals are exact.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_BASE_FLOAT16_H
#define SHARDC_RUNTIME_BASE_FLOAT16_H

#include "runtime/base/HostDevice.h"

#include <bit>
#include <cstdint>

namespace shardc::runtime {

struct Half {
  uint16_t bits;
};
struct BFloat {
  uint16_t bits;
};

SHARDC_HOST_DEVICE inline float toFloat(BFloat x) {
  return std::bit_cast<float>(static_cast<uint32_t>(x.bits) << 16);
}

SHARDC_HOST_DEVICE inline BFloat toBFloat(float x) {
  uint32_t bits = std::bit_cast<uint32_t>(x);
  if ((bits & 0x7fffffffu) > 0x7f800000u) // quiet the NaN, keep its sign
    return {static_cast<uint16_t>((bits >> 16) | 0x40)};
  return {static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1)) >> 16)};
}

SHARDC_HOST_DEVICE inline float toFloat(Half x) {
#ifdef __CUDA_ARCH__ // one instruction there
  float result;
  asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(x.bits));
  return result;
#else
  uint32_t sign = static_cast<uint32_t>(x.bits & 0x8000u) << 16;
  uint32_t magnitude = x.bits & 0x7fffu;
  if (magnitude >= 0x7c00u) // infinity, NaN
    return std::bit_cast<float>(sign | 0x7f800000u |
                                (magnitude & 0x3ffu) << 13);
  if (magnitude >= 0x0400u) // normal: move the exponent's bias from 15 to 127
    return std::bit_cast<float>(sign | ((magnitude << 13) + (112u << 23)));
  float value = static_cast<float>(magnitude) * 0x1p-24f; // subnormal: exact
  return sign ? -value : value;
#endif
}

SHARDC_HOST_DEVICE inline Half toHalf(float x) {
#ifdef __CUDA_ARCH__
  Half result;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result.bits) : "f"(x));
  return result;
#else
  uint32_t bits = std::bit_cast<uint32_t>(x);
  uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u)
    return {static_cast<uint16_t>(sign | 0x7e00u)};
  if (magnitude >= 0x477ff000u) // rounds to 65536 or more
    return {static_cast<uint16_t>(sign | 0x7c00u)};
  if (magnitude < 0x38800000u) { // below 2^-14: the sum's ulp is 2^-24
    float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    uint32_t fraction = std::bit_cast<uint32_t>(shifted) - 0x3f000000u;
    return {static_cast<uint16_t>(sign | fraction)};
  }
  magnitude += 0xfffu + ((magnitude >> 13) & 1);
  return {static_cast<uint16_t>(sign | ((magnitude - (112u << 23)) >> 13))};
#endif
}

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_BASE_FLOAT16_H
