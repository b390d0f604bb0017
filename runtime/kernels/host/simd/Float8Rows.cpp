//===- Float8Rows.cpp - Rows of e4m3 that tables make floats of -----------===//
//
// Each e4m3 number is one of bfloat16: its two bytes stand in tables of 128 bytes,
// for each magnitude one, where the sign is set behind. 64 numbers take ten
// instructions; by arithmetic, as ByteNumbers.inc has them, 40. 0x41 (2.25) has
// the bytes 0x40 and 0x10, which are 2.25 in bfloat16.
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/host/simd/Float8Rows.h"

#include "runtime/base/ProcessorLevel.h"
#include "runtime/kernels/StorageTypes.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace shardc::runtime::host {

#ifdef __x86_64__

namespace {

#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c,avx512f,avx512bw,avx512vbmi")
#include "runtime/kernels/host/simd/Avx512Vectors.inc"

#include "runtime/kernels/host/simd/ByteNumbers.inc"
#include "runtime/kernels/host/simd/PanelLoops.inc"
#include "runtime/kernels/host/simd/RowLoops.inc"

/// The bfloat16 of an e4m3 number without its sign (OCP 8-bit floating point
/// specification, 1.0, section 5): its least numbers are steps of 2^-9.
constexpr int bfloat16Of(int magnitude) {
  const int exponent = magnitude >> 3, mantissa = magnitude & 7;
  if (magnitude == 0x7f)
    return 0x7fc0;
  if (exponent > 0)
    return (exponent - 7 + 127) << 7 | mantissa << 4;
  if (mantissa == 0)
    return 0;
  const int first = mantissa >= 4 ? 2 : mantissa >= 2 ? 1 : 0; // of its bits
  return (first - 9 + 127) << 7 | (mantissa << (7 - first) & 0x7f);
}

/// Without code that would run where there are no such instructions.
struct Tables {
  /// The bytes of bfloat16 by the magnitude of e4m3.
  alignas(64) uint8_t upper[128] = {}, lower[128] = {};
  /// Byte i of 64 that become words by halves of lanes, and floats by even and
  /// odd ones, so that they are in order then: vector v of floats has, in lane
  /// 4 l + d, byte 16 l + 8 (v / 2) + 2 d + v % 2.
  alignas(64) uint8_t order[64] = {};

  constexpr Tables() {
    for (int i = 0; i < 128; ++i) {
      upper[i] = uint8_t(bfloat16Of(i) >> 8);
      lower[i] = uint8_t(bfloat16Of(i));
    }
    for (int v = 0; v < 4; ++v)
      for (int lane = 0; lane < 16; ++lane)
        order[16 * (lane / 4) + 8 * (v / 2) + 2 * (lane % 4) + v % 2] =
            uint8_t(16 * v + lane);
  }
};
constexpr Tables kTables;

inline __m512i tableAt(const uint8_t *bytes) {
  return _mm512_load_si512(bytes);
}
/// 64 numbers become floats together (QueryLoops.inc).
constexpr int together(const Float8E4M3Number *) { return 4; }
[[gnu::always_inline]] inline void loadPanels(const Float8E4M3Number *p,
                                              Vector (&to)[4]) {
  constexpr __mmask64 all = ~__mmask64(0);
  const __m512i bytes = _mm512_maskz_permutexvar_epi8(
      all, tableAt(kTables.order), _mm512_loadu_si512(p));
  const __m512i magnitude = _mm512_permutex2var_epi8(
      tableAt(kTables.upper), bytes, tableAt(kTables.upper + 64));
  const __m512i lower = _mm512_permutex2var_epi8(tableAt(kTables.lower), bytes,
                                                 tableAt(kTables.lower + 64));
  // magnitude | (bytes & 0x80)
  const __m512i upper = _mm512_ternarylogic_epi32(
      magnitude, bytes, _mm512_set1_epi8(int8_t(0x80)), 0xf8);
  const auto low =
      reinterpret_cast<Bits>(_mm512_maskz_unpacklo_epi8(all, lower, upper));
  const auto high =
      reinterpret_cast<Bits>(_mm512_maskz_unpackhi_epi8(all, lower, upper));
  to[0] = reinterpret_cast<Vector>(low << 16);
  to[1] = reinterpret_cast<Vector>(low & 0xffff0000u);
  to[2] = reinterpret_cast<Vector>(high << 16);
  to[3] = reinterpret_cast<Vector>(high & 0xffff0000u);
}

#include "runtime/kernels/host/simd/QueryLoops.inc"

} // namespace

void multiplyFloat8Rows(const RowProduct &product) {
  multiplyRows<Float8E4M3Number>(product);
}
void addFloat8Rows(const WeightedRows &sum) { addRows<Float8E4M3Number>(sum); }

#pragma GCC pop_options

bool hasFloat8Rows() {
  static const bool has = hasLevel(ProcessorLevel::Avx512Vnni) &&
                          __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512vbmi");
  return has;
}

#else

bool hasFloat8Rows() { return false; }
void multiplyFloat8Rows(const RowProduct &) {}
void addFloat8Rows(const WeightedRows &) {}

#endif

} // namespace shardc::runtime::host
