//===- FloatMath.h - exp, tanh and erf that vectorise ---------------------===//
//
// libm's are calls, one element at a time. These float versions are straight
// code on polynomials (minimax fits), so loops over them become SIMD if they
// are inlined and -fno-trapping-math is given; within 3 ulp of the true value,
// infinities, NaN and subnormal results included. Other types go to libm.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_KERNELS_ELEMENTWISE_FLOATMATH_H
#define SHARDC_RUNTIME_KERNELS_ELEMENTWISE_FLOATMATH_H

#include "runtime/base/HostDevice.h"

#include <bit>
#include <cmath>
#include <cstdint>

namespace shardc::runtime::host {

SHARDC_HOST_DEVICE inline double exponential(double x) { return std::exp(x); }
SHARDC_HOST_DEVICE inline double hyperbolicTangent(double x) {
  return std::tanh(x);
}
SHARDC_HOST_DEVICE inline double errorFunction(double x) { return std::erf(x); }

/// c0 + c1 x + c2 x^2 + ...
template <typename... Cs>
[[gnu::always_inline]] SHARDC_HOST_DEVICE inline float
polynomial(float x, float c0, Cs... rest) {
  if constexpr (sizeof...(rest) == 0)
    return c0;
  else
    return c0 + x * polynomial(x, rest...);
}

/// condition ? a : b without the branch that GCC may make of it, which would
/// keep a loop scalar.
[[gnu::always_inline]] SHARDC_HOST_DEVICE inline float blend(bool condition,
                                                             float a, float b) {
  const uint32_t mask = 0u - static_cast<uint32_t>(condition);
  return std::bit_cast<float>((std::bit_cast<uint32_t>(a) & mask) |
                              (std::bit_cast<uint32_t>(b) & ~mask));
}

/// 2^n e^r with |r| <= ln(2) / 2; 2^n in two factors, as n may leave the range
/// of a float's exponent.
[[gnu::always_inline]] SHARDC_HOST_DEVICE inline float exponential(float x) {
  constexpr float log2e = 1.44269504f;
  constexpr float ln2High = 0.693359375f, ln2Low = -2.12194440e-4f;
  constexpr float magic = 12582912.f; // its last bit is worth 1
  x = x < -104.f ? -104.f : x;
  x = x > 89.f ? 89.f : x; // both keep NaN
  const float shifted = x * log2e + magic;
  const uint32_t n =
      std::bit_cast<uint32_t>(shifted) - std::bit_cast<uint32_t>(magic);
  const float whole = shifted - magic;
  const float r = x - whole * ln2High - whole * ln2Low;
  const float power =
      1.f + (r + r * r *
                     polynomial(r, 5.000000101e-01f, 1.666651289e-01f,
                                4.166618730e-02f, 8.369598300e-03f,
                                1.395171900e-03f));
  const uint32_t half = static_cast<uint32_t>(static_cast<int32_t>(n) >> 1);
  const float first = std::bit_cast<float>((half + 127u) << 23);
  const float second = std::bit_cast<float>((n - half + 127u) << 23);
  return power * first * second;
}

[[gnu::always_inline]] SHARDC_HOST_DEVICE inline float
hyperbolicTangent(float x) {
  const float magnitude = std::fabs(x), square = x * x;
  const float small = x + x * square *
                              polynomial(square, -3.333328392e-01f,
                                         1.333149128e-01f, -5.374349740e-02f,
                                         2.065058540e-02f, -5.717043100e-03f);
  const float large = 1.f - 2.f / (exponential(2.f * magnitude) + 1.f);
  return blend(magnitude < 0.625f, small, std::copysign(large, x));
}

/// erf(x) is odd; 1 - e^(-x p(x)) from 1 on.
[[gnu::always_inline]] SHARDC_HOST_DEVICE inline float errorFunction(float x) {
  const float magnitude = std::fabs(x);
  const float small =
      x * polynomial(x * x, 1.128379166e+00f, -3.761262714e-01f,
                     1.128360018e-01f, -2.685444464e-02f, 5.189535430e-03f,
                     -8.020842088e-04f, 7.889122233e-05f);
  const float bounded = magnitude > 4.f ? 4.f : magnitude; // keeps NaN
  const float large =
      1.f -
      exponential(-bounded * polynomial(bounded, 1.128696597e+00f,
                                        6.349604622e-01f, 1.065456955e-01f,
                                        -2.402270702e-02f, 3.763392010e-03f,
                                        -3.520327249e-04f, 1.410503489e-05f));
  return blend(magnitude < 1.f, small, std::copysign(large, x));
}

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_ELEMENTWISE_FLOATMATH_H
