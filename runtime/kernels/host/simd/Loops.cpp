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

/// Rows of A whose part of kDepthBlock columns stays in the second cache.
constexpr int64_t kRowBlock = 240;
/// Panels whose columns of C stay in a cache from one block of depth to
/// another; a multiple of all tilePanels.
constexpr int64_t kPanelBlock = 24;
/// More tiles than a block of rows has.
constexpr int64_t kNever = kRowBlock;
/// Tiles of a panel of 16 bits from which on it is widened once for all.
constexpr int64_t kWidenTiles = 3;

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
using Halves [[gnu::vector_size(16), gnu::aligned(2), gnu::may_alias]] =
    uint16_t;
inline Vector loadPanel(const BFloat16 *p) {
  return reinterpret_cast<Vector>(
      __builtin_convertvector(*reinterpret_cast<const Halves *>(p), Bits)
      << 16);
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
// Where A's rows are a multiple of 4 KiB apart, as they often are, those of a
// tile share one set of the first cache, which has 8 places or more: 12 rows
// and 2 panels would read A from the second one.
constexpr int kWidth = 16, kTileRows = 8;
constexpr int tilePanels(int64_t rows) { return rows <= 3 ? 4 : 3; }
constexpr int fieldPanels(int64_t rows) { return rows <= 2 ? 4 : 2; }
constexpr int kFieldRows = 8;
constexpr int64_t kPrefetchTiles = kNever;
using Vector [[gnu::vector_size(64)]] = float;
using Unaligned [[gnu::vector_size(64), gnu::aligned(4), gnu::may_alias]] =
    float;
inline Vector loadPanel(const float *p) {
  return *reinterpret_cast<const Unaligned *>(p);
}
inline Vector loadPanel(const Float16 *p) {
  return _mm512_maskz_cvtph_ps( // the plain one is warned of in GCC 12
      0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i *>(p)));
}
using Bits [[gnu::vector_size(64)]] = uint32_t;
using Halves [[gnu::vector_size(32), gnu::aligned(2), gnu::may_alias]] =
    uint16_t;
inline Vector loadPanel(const BFloat16 *p) {
  return reinterpret_cast<Vector>(
      __builtin_convertvector(*reinterpret_cast<const Halves *>(p), Bits)
      << 16);
}
inline Bits loadBytes(const std::byte *p) {
  return reinterpret_cast<Bits>(_mm512_maskz_cvtepu8_epi32(
      0xffff, _mm_loadu_si128(reinterpret_cast<const __m128i *>(p))));
}
inline Bits loadSignedBytes(const std::byte *p) {
  return reinterpret_cast<Bits>(_mm512_maskz_cvtepi8_epi32(
      0xffff, _mm_loadu_si128(reinterpret_cast<const __m128i *>(p))));
}
template <typename Q>
[[gnu::always_inline]] inline void narrowLanes(const void *lanes, Q *to) {
  using Lanes [[gnu::vector_size(64)]] = int32_t;
  using Narrow [[gnu::vector_size(16 * sizeof(Q))]] = Q;
  const Narrow narrow =
      __builtin_convertvector(*static_cast<const Lanes *>(lanes), Narrow);
  std::memcpy(to, &narrow, sizeof narrow);
}
inline void storeNumbers(Float16 *p, Vector numbers) {
  _mm256_storeu_si256(
      reinterpret_cast<__m256i *>(p),
      _mm512_maskz_cvtps_ph(0xffff, numbers, _MM_FROUND_TO_NEAREST_INT));
}
#include "runtime/kernels/host/simd/LoopTable.inc"
} // namespace v4
#pragma GCC pop_options
#endif

namespace plain {
constexpr int kWidth = 4, kTileRows = 2;
constexpr int64_t kPrefetchTiles = kNever;
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
  static constexpr const Loops *all[] = {&v4::kLoops, &v3::kLoops,
                                         &plain::kLoops};
  static const size_t first = hasLevel(ProcessorLevel::Avx512) ? 0
                              : hasLevel(ProcessorLevel::Avx2) ? 1
                                                               : 2;
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
