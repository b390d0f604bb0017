//===- Loops.cpp - The same loops for each kind of processor --------------===//
//
// One source, compiled for vectors of 8 floats (x86-64-v3), 16 (AVX-512) and,
// for all other processors, 4; which one runs is decided once in a process.
// The pragmas reach what is defined between them, and nothing of the headers
// above, which the rest of the program shares.
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/host/simd/Loops.h"

#include "runtime/base/ProcessorLevel.h"
#include "runtime/kernels/StorageTypes.h"
#include "runtime/kernels/host/simd/Float8Rows.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace shardc::runtime::host {
namespace {

#ifdef __x86_64__
#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c")
namespace v3 {
constexpr int kWidth = 8, kTileRows = 6;
/// Fewer would each ask for more lines at once than a core waits for.
constexpr int64_t kPrefetchTiles = 16;
constexpr int tilePanels(int64_t rows) {
  return rows == 1 ? 4 : rows <= 3 ? 2 : 1;
}
constexpr int fieldPanels(int64_t rows) { return rows <= 2 ? 2 : 1; }
constexpr int kFieldRows = 4;
using Vector [[gnu::vector_size(32)]] = float;
using Unaligned [[gnu::vector_size(32), gnu::aligned(4), gnu::may_alias]] =
    float;
inline Vector loadPanel(const float *p) {
  return *reinterpret_cast<const Unaligned *>(p);
}
inline Vector loadPanel(const Float16 *p) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i *>(p)));
}
using Bits [[gnu::vector_size(32)]] = uint32_t;
// By hand, since __builtin_convertvector takes five instructions in GCC 12.
inline Vector loadPanel(const BFloat16 *p) {
  const auto words = reinterpret_cast<Bits>(_mm256_cvtepu16_epi32(
      _mm_loadu_si128(reinterpret_cast<const __m128i *>(p))));
  return reinterpret_cast<Vector>(words << 16);
}
/// The lower half of each, where the upper one is zero.
inline void storeHalves(void *p, Bits words) {
  const auto all = reinterpret_cast<__m256i>(words);
  _mm_storeu_si128(static_cast<__m128i *>(p),
                   _mm_packus_epi32(_mm256_castsi256_si128(all),
                                    _mm256_extracti128_si256(all, 1)));
}
inline Bits loadBytes(const std::byte *p) {
  return reinterpret_cast<Bits>(_mm256_cvtepu8_epi32(
      _mm_loadl_epi64(reinterpret_cast<const __m128i *>(p))));
}
inline Bits loadSignedBytes(const std::byte *p) {
  return reinterpret_cast<Bits>(_mm256_cvtepi8_epi32(
      _mm_loadl_epi64(reinterpret_cast<const __m128i *>(p))));
}
/// 16 integers as those of a type that has them.
template <typename Q>
[[gnu::always_inline]] inline void narrowLanes(const void *lanes, Q *to) {
  const auto *from = static_cast<const __m256i *>(lanes);
  const __m256i low = _mm256_load_si256(from),
                high = _mm256_load_si256(from + 1);
  // Packing goes by halves of vectors.
  const __m256i packed = std::is_same_v<Q, uint16_t>
                             ? _mm256_packus_epi32(low, high)
                             : _mm256_packs_epi32(low, high);
  const __m256i words = _mm256_permute4x64_epi64(packed, 0xd8);
  if constexpr (sizeof(Q) == 2) {
    _mm256_storeu_si256(reinterpret_cast<__m256i *>(to), words);
  } else {
    const __m128i first = _mm256_castsi256_si128(words),
                  last = _mm256_extracti128_si256(words, 1);
    _mm_storeu_si128(reinterpret_cast<__m128i *>(to),
                     std::is_signed_v<Q> ? _mm_packs_epi16(first, last)
                                         : _mm_packus_epi16(first, last));
  }
}
inline void storeNumbers(Float16 *p, Vector numbers) {
  _mm_storeu_si128(reinterpret_cast<__m128i *>(p),
                   _mm256_cvtps_ph(numbers, _MM_FROUND_TO_NEAREST_INT));
}
#include "runtime/kernels/host/simd/LoopTable.inc"
} // namespace v3
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c,avx512f")
namespace v4 {
#include "runtime/kernels/host/simd/Avx512Vectors.inc"
#include "runtime/kernels/host/simd/LoopTable.inc"
} // namespace v4
#pragma GCC pop_options
#endif

namespace plain {
constexpr int kWidth = 4, kTileRows = 2;
constexpr int64_t kPrefetchTiles = 1000; // of no block's rows
constexpr int tilePanels(int64_t) { return 1; }
constexpr int fieldPanels(int64_t) { return 1; }
constexpr int kFieldRows = 2;
using Vector [[gnu::vector_size(16)]] = float;
using Bits [[gnu::vector_size(16)]] = uint32_t;
using Unaligned [[gnu::vector_size(16), gnu::aligned(4), gnu::may_alias]] =
    float;
template <typename T> Vector loadPanel(const T *p) {
  return Vector{float(p[0]), float(p[1]), float(p[2]), float(p[3])};
}
inline void storeHalves(void *p, Bits words) {
  using Halves [[gnu::vector_size(8)]] = uint16_t;
  const Halves halves = __builtin_convertvector(words, Halves);
  std::memcpy(p, &halves, sizeof halves);
}
inline Bits loadBytes(const std::byte *p) {
  return Bits{uint32_t(p[0]), uint32_t(p[1]), uint32_t(p[2]), uint32_t(p[3])};
}
inline Bits loadSignedBytes(const std::byte *p) {
  return (loadBytes(p) ^ 0x80u) - 0x80u;
}
template <typename Q> void narrowLanes(const void *lanes, Q *to) {
  int32_t integers[16];
  std::memcpy(integers, lanes, sizeof integers);
  for (int lane = 0; lane < 16; ++lane)
    to[lane] = Q(integers[lane]);
}
inline void storeNumbers(Float16 *p, Vector numbers) {
  for (int lane = 0; lane < kWidth; ++lane)
    p[lane] = Float16(numbers[lane]);
}
#include "runtime/kernels/host/simd/LoopTable.inc"
} // namespace plain

} // namespace

std::span<const Loops *const> supportedLoops() {
#ifdef __x86_64__
  static const Loops withFloat8Rows = [] {
    Loops loops = v4::kLoops;
    loops.multiplyRows.ofFloat8E4M3 = multiplyFloat8Rows;
    loops.addRows.ofFloat8E4M3 = addFloat8Rows;
    return loops;
  }();
  static const Loops *const all[] = {&withFloat8Rows, &v4::kLoops, &v3::kLoops,
                                     &plain::kLoops};
  static const size_t first = hasFloat8Rows()                    ? 0
                              : hasLevel(ProcessorLevel::Avx512) ? 1
                              : hasLevel(ProcessorLevel::Avx2)   ? 2
                                                                 : 3;
  return std::span(all).subspan(first);
#else
  static constexpr const Loops *all[] = {&plain::kLoops};
  return all;
#endif
}

const Loops &loops() {
  static const Loops &fastest = *supportedLoops().front();
  return fastest;
}

} // namespace shardc::runtime::host
