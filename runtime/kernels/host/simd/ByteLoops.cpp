//===- ByteLoops.cpp - The same loops for each kind of processor ----------===//
//
// As Loops.cpp: one source, and what four products of bytes are for it. Vectors
// of 16 columns have VNNI; AVX-512 without it runs those of 8.
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/host/simd/ByteLoops.h"

#include "runtime/base/ProcessorLevel.h"
#include "runtime/kernels/host/simd/FieldPanels.h"
#include "runtime/kernels/host/simd/IntegerPanels.h"

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

/// Of four bytes, the field of the lowest bits.
template <int Parts>
inline constexpr uint32_t kFieldsOfByte =
    ((1u << (8 / Parts)) - 1) * 0x01010101u;

/// Sums that have room for all products of a block.
constexpr int64_t kCarriesAll = std::numeric_limits<int64_t>::max() / 2;

#ifdef __x86_64__
/// Pairs of products of bytes reach 16 bits, then 32: of halves eight words
/// (2 * 15 * 127 each) fit the first, and so do quarters; bytes take 128 from B, so that a pair
/// does.
#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c")
namespace bytes3 {
constexpr int kWidth = 8, kTileRows = 4;
constexpr int64_t kCarry = 8;
constexpr int tilePanels(int64_t rows) { return rows == 1 ? 2 : 1; }
template <int Parts> inline constexpr float kOffset = Parts > 1 ? 0 : 128;
#include "runtime/kernels/host/simd/ByteVectors.inc"
template <int Parts>
[[gnu::always_inline]] inline Sums addBytes(Sums sums, Bytes b, Bytes a) {
  if (Parts > 1)
    return _mm256_add_epi16(sums, _mm256_maddubs_epi16(b, a));
  b = _mm256_xor_si256(b, _mm256_set1_epi8(-128));
  const __m256i pairs =
      _mm256_maddubs_epi16(_mm256_abs_epi8(b), _mm256_sign_epi8(a, b));
  return _mm256_add_epi32(sums, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}
template <int Parts> [[gnu::always_inline]] inline Words totalOf(Sums sums) {
  return reinterpret_cast<Words>(
      Parts > 1 ? _mm256_madd_epi16(sums, _mm256_set1_epi16(1)) : sums);
}
/// Exact for all bytes: pairs of 16 bits reach 32 at once.
[[gnu::always_inline]] inline Words addIntegers(Words sums, Bytes b, Bytes a) {
  const __m256i even =
      _mm256_madd_epi16(_mm256_and_si256(b, _mm256_set1_epi16(255)),
                        _mm256_srai_epi16(_mm256_slli_epi16(a, 8), 8));
  const __m256i odd =
      _mm256_madd_epi16(_mm256_srli_epi16(b, 8), _mm256_srai_epi16(a, 8));
  return sums + reinterpret_cast<Words>(_mm256_add_epi32(even, odd));
}
constexpr int kIntegerRows = 4;
constexpr int integerPanels(int rows) { return rows == 1 ? 2 : 1; }
#include "runtime/kernels/host/simd/ByteLoops.inc"
} // namespace bytes3
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c,avxvnni")
namespace vnni3 {
constexpr int kWidth = 8, kTileRows = 4;
constexpr int64_t kCarry = kCarriesAll;
constexpr int tilePanels(int64_t rows) { return rows == 1 ? 4 : 1; }
template <int> inline constexpr float kOffset = 0;
#include "runtime/kernels/host/simd/ByteVectors.inc"
template <int>
[[gnu::always_inline]] inline Sums addBytes(Sums sums, Bytes b, Bytes a) {
  return _mm256_dpbusd_avx_epi32(sums, b, a);
}
template <int> [[gnu::always_inline]] inline Words totalOf(Sums sums) {
  return reinterpret_cast<Words>(sums);
}
[[gnu::always_inline]] inline Words addIntegers(Words sums, Bytes b, Bytes a) {
  return reinterpret_cast<Words>(
      _mm256_dpbusd_avx_epi32(reinterpret_cast<__m256i>(sums), b, a));
}
constexpr int kIntegerRows = 4;
constexpr int integerPanels(int rows) { return rows == 1 ? 2 : 1; }
#include "runtime/kernels/host/simd/ByteLoops.inc"
} // namespace vnni3
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c,avx512f,avx512vnni")
namespace vnni4 {
constexpr int kWidth = 16, kTileRows = 8;
constexpr int64_t kCarry = kCarriesAll;
constexpr int tilePanels(int64_t rows) { return rows == 1 ? 4 : 2; }
template <int> inline constexpr float kOffset = 0;
#include "runtime/kernels/host/simd/Avx512Bytes.inc"
using Words [[gnu::vector_size(64)]] = int32_t;
using Sums = __m512i;
template <int>
[[gnu::always_inline]] inline Sums addBytes(Sums sums, Bytes b, Bytes a) {
  return addProducts(sums, b, a);
}
template <int> [[gnu::always_inline]] inline Words totalOf(Sums sums) {
  return reinterpret_cast<Words>(sums);
}
template <int Parts>
[[gnu::always_inline]] inline Bytes partOf(Bytes bytes, int part) {
  using Lines [[gnu::vector_size(64)]] = uint32_t;
  return reinterpret_cast<Bytes>(reinterpret_cast<Lines>(bytes) >>
                                     uint32_t(8 / Parts * part) &
                                 kFieldsOfByte<Parts>);
}
[[gnu::always_inline]] inline Words addIntegers(Words sums, Bytes b, Bytes a) {
  return reinterpret_cast<Words>(
      _mm512_dpbusd_epi32(reinterpret_cast<__m512i>(sums), b, a));
}
constexpr int kIntegerRows = 8;
constexpr int integerPanels(int) { return 2; }
#include "runtime/kernels/host/simd/ByteLoops.inc"
} // namespace vnni4
#pragma GCC pop_options
#endif

namespace anywhere {
constexpr int kWidth = 4, kTileRows = 1;
constexpr int64_t kCarry = kCarriesAll;
constexpr int tilePanels(int64_t) { return 1; }
template <int> inline constexpr float kOffset = 0;
using Words [[gnu::vector_size(16)]] = int32_t;
struct Bytes {
  uint8_t bytes[16];
};
[[gnu::always_inline]] inline Bytes loadBytes(const uint32_t *p) {
  Bytes bytes;
  std::memcpy(&bytes, p, 16);
  return bytes;
}
[[gnu::always_inline]] inline Bytes repeatBytes(const int8_t *p) {
  Bytes bytes;
  for (int i = 0; i < 16; i += 4)
    std::memcpy(bytes.bytes + i, p, 4);
  return bytes;
}
using Sums = Words;
template <int> inline Sums addBytes(Sums sums, const Bytes &b, const Bytes &a) {
  for (int i = 0; i < 16; ++i)
    sums[i / 4] += int32_t(b.bytes[i]) * int8_t(a.bytes[i]);
  return sums;
}
template <int> inline Words totalOf(Sums sums) { return sums; }
template <int Parts>
[[gnu::always_inline]] inline Bytes partOf(Bytes bytes, int part) {
  for (uint8_t &byte : bytes.bytes)
    byte = uint8_t(byte >> (8 / Parts * part) & kFieldsOfByte<Parts>);
  return bytes;
}
inline Words addIntegers(Words sums, const Bytes &b, const Bytes &a) {
  return addBytes<1>(sums, b, a);
}
constexpr int kIntegerRows = 1;
constexpr int integerPanels(int) { return 1; }
#include "runtime/kernels/host/simd/ByteLoops.inc"
} // namespace anywhere

} // namespace

std::span<const ByteLoops *const> supportedByteLoops() {
#ifdef __x86_64__
  const auto find = [] {
    std::pair<std::array<const ByteLoops *, 4>, size_t> found = {};
    const auto add = [&](bool isThere, const ByteLoops &loops) {
      if (isThere)
        found.first[found.second++] = &loops;
    };
    add(hasLevel(ProcessorLevel::Avx512Vnni), vnni4::kLoops);
    add(hasLevel(ProcessorLevel::AvxVnni), vnni3::kLoops);
    add(hasLevel(ProcessorLevel::Avx2), bytes3::kLoops);
    add(true, anywhere::kLoops);
    return found;
  };
  static const auto all = find();
  return std::span(all.first).first(all.second);
#else
  static constexpr const ByteLoops *all[] = {&anywhere::kLoops};
  return all;
#endif
}

const ByteLoops &byteLoops() {
  static const ByteLoops &fastest = *supportedByteLoops().front();
  return fastest;
}

} // namespace shardc::runtime::host
