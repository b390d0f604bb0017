//===- DigitRows.cpp - Few rows of floats and rows of int8, by VNNI -------===//
//
// Keys are turned, 32 at a time, so that a word of a vector has four numbers of one
// key, and a sum's lanes are keys. Values are interleaved, four rows at a time: a
// word has a column's four numbers. Words of digits are the same for all lanes.
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/host/simd/DigitRows.h"

#include "runtime/base/ProcessorLevel.h"

#include <algorithm>
#include <cstring>
#include <limits>

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace shardc::runtime::host {

namespace {
constexpr int64_t kLine = 64, kMostDepth = 256;
}

bool haveDigits(int64_t depth, int64_t columns) {
  return depth > 0 && columns > 0 && depth % kLine == 0 &&
         depth <= kMostDepth && columns % kLine == 0;
}

int64_t DigitRows::bytes(int64_t rows, int64_t depth) {
  return rows * (2 * depth + int64_t(sizeof(float) + 2 * sizeof(int32_t)));
}

#ifdef __x86_64__

bool hasDigitRows() {
  static const bool has = hasLevel(ProcessorLevel::Avx512Vnni) &&
                          __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512vnni");
  return has;
}

namespace {

#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c,avx512f,avx512bw,avx512vnni")

constexpr int64_t kLanes = 16;
#include "runtime/kernels/host/simd/Avx512Bytes.inc"
/// At most 16 floats, and zeros.
[[gnu::always_inline]] inline __m512 loadSome(const float *p, int64_t count) {
  return _mm512_maskz_loadu_ps(__mmask16((1u << std::min(count, kLanes)) - 1),
                               p);
}
/// 256 hi + lo.
[[gnu::always_inline]] inline __m512 joined(Bytes upper, Bytes lower) {
  constexpr __mmask16 all = 0xffff;
  return _mm512_fmadd_ps(_mm512_maskz_cvtepi32_ps(all, upper),
                         _mm512_set1_ps(256),
                         _mm512_maskz_cvtepi32_ps(all, lower));
}

/// 16 numbers x `factor` as digits: to 4 times four upper and four lower ones.
/// Unsigned ones are digits as they are, signed ones have a lower digit from -128
/// to 127.
template <bool IsSigned>
[[gnu::always_inline]] inline void splitDigits(__m512 x, __m512 factor,
                                               int8_t *to) {
  constexpr __mmask16 all = 0xffff;
  const Bytes number = _mm512_maskz_cvtps_epi32(all, _mm512_mul_ps(x, factor));
  const Bytes rounded =
      IsSigned ? _mm512_add_epi32(number, _mm512_set1_epi32(128)) : number;
  const __m128i upper =
      _mm512_maskz_cvtepi32_epi8(all, _mm512_maskz_srai_epi32(all, rounded, 8));
  const __m128i lower = _mm512_maskz_cvtepi32_epi8(all, number);
  auto *words = reinterpret_cast<__m128i *>(to);
  _mm_storeu_si128(words, _mm_unpacklo_epi32(upper, lower));
  _mm_storeu_si128(words + 1, _mm_unpackhi_epi32(upper, lower));
}

/// Lines that are read next, which memory is asked for one by one and in their
/// order, so that a processor foresees others.
class LinesAhead {
public:
  LinesAhead(const NextRows &next, int64_t rows)
      : row(next.rows), step(next.step), bytes(next.bytes),
        rowsLeft(next.rows ? rows : 0) {
    for (int64_t i = 0; next.scales && i < rows * next.scaleStep; i += kLine)
      __builtin_prefetch(next.scales + i, 0, 3);
  }

  [[gnu::always_inline]] void fetch() {
    if (rowsLeft == 0)
      return;
    __builtin_prefetch(row + at, 0, 3);
    at += kLine;
    if (at < bytes)
      return;
    at = 0;
    row += step;
    --rowsLeft;
  }

private:
  const std::byte *row;
  int64_t step, bytes, rowsLeft, at = 0;
};

using Lanes [[gnu::vector_size(64)]] = int32_t;
[[gnu::always_inline]] inline Lanes larger(Lanes a, Lanes b) {
  return a > b ? a : b;
}
[[gnu::always_inline]] inline int32_t largestLane(Lanes of) {
  of = larger(of, __builtin_shufflevector(of, of, 8, 9, 10, 11, 12, 13, 14, 15,
                                          0, 1, 2, 3, 4, 5, 6, 7));
  of = larger(of, __builtin_shufflevector(of, of, 4, 5, 6, 7, 0, 1, 2, 3, 12,
                                          13, 14, 15, 8, 9, 10, 11));
  of = larger(of, __builtin_shufflevector(of, of, 2, 3, 0, 1, 6, 7, 4, 5, 10,
                                          11, 8, 9, 14, 15, 12, 13));
  return std::max(of[0], of[1]);
}

/// The largest magnitude; infinite where a number is not finite.
inline float largestOf(const float *x, int64_t count) {
  Lanes most = {};
  for (int64_t i = 0; i < count; i += kLanes)
    most = larger(most, reinterpret_cast<Lanes>(loadSome(x + i, count - i)) &
                            0x7fffffff);
  const int32_t bits = largestLane(most);
  float largest;
  std::memcpy(&largest, &bits, 4);
  return bits < 0x7f800000 ? largest : std::numeric_limits<float>::infinity();
}

/// What numbers up to `largest` are multiplied by to be digits, and what those are
/// worth.
struct DigitScale {
  float factor, scale;

  static DigitScale of(float largest, float mostDigits) {
    if (largest == std::numeric_limits<float>::infinity())
      return {0, std::numeric_limits<float>::quiet_NaN()};
    const float factor = mostDigits / largest;
    // None, or so small that digits would be worth nothing.
    if (!(factor < 3e38f))
      return {0, 0};
    return {factor, largest / mostDigits};
  }
};

/// Turns `count` rows of keys, at most 16, of `depth` bytes: word w of key i to
/// to[32 w + i], unsigned.
template <bool IsWhole>
void turnKeys(const int8_t *keys, int64_t step, int64_t count, int64_t depth,
              int32_t *to) {
  constexpr __mmask16 all = 0xffff;
  constexpr __mmask8 pairs = 0xff;
  for (int64_t at = 0; at < depth; at += kLine) {
    Bytes a[16], b[16];
    const int8_t *key = keys + at;
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) {
      a[i] = _mm512_xor_si512(loadBytes(key), _mm512_set1_epi8(-128));
      key += IsWhole || i + 1 < count ? step : 0;
    }
#pragma GCC unroll 16
    for (int i = 0; i < 16; i += 2) {
      b[i] = _mm512_maskz_unpacklo_epi32(all, a[i], a[i + 1]);
      b[i + 1] = _mm512_maskz_unpackhi_epi32(all, a[i], a[i + 1]);
    }
    // a[i + j] of keys i to i + 3 has words 4 l + j in lane l of 128 bits.
#pragma GCC unroll 16
    for (int i = 0; i < 16; i += 4) {
      a[i] = _mm512_maskz_unpacklo_epi64(pairs, b[i], b[i + 2]);
      a[i + 1] = _mm512_maskz_unpackhi_epi64(pairs, b[i], b[i + 2]);
      a[i + 2] = _mm512_maskz_unpacklo_epi64(pairs, b[i + 1], b[i + 3]);
      a[i + 3] = _mm512_maskz_unpackhi_epi64(pairs, b[i + 1], b[i + 3]);
    }
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      const Bytes even01 =
          _mm512_maskz_shuffle_i32x4(all, a[j], a[4 + j], 0x88);
      const Bytes odd01 = _mm512_maskz_shuffle_i32x4(all, a[j], a[4 + j], 0xdd);
      const Bytes even23 =
          _mm512_maskz_shuffle_i32x4(all, a[8 + j], a[12 + j], 0x88);
      const Bytes odd23 =
          _mm512_maskz_shuffle_i32x4(all, a[8 + j], a[12 + j], 0xdd);
      int32_t *words = to + (at / 4 + j) * 2 * kLanes;
      constexpr int64_t lane = 4 * 2 * kLanes;
      _mm512_store_si512(words,
                         _mm512_maskz_shuffle_i32x4(all, even01, even23, 0x88));
      _mm512_store_si512(words + lane,
                         _mm512_maskz_shuffle_i32x4(all, odd01, odd23, 0x88));
      _mm512_store_si512(words + 2 * lane,
                         _mm512_maskz_shuffle_i32x4(all, even01, even23, 0xdd));
      _mm512_store_si512(words + 3 * lane,
                         _mm512_maskz_shuffle_i32x4(all, odd01, odd23, 0xdd));
    }
  }
}

/// `Rows` of A with 32 keys that were turned, of which `count` are there.
template <int Rows>
void scoreKeys(const DigitRows &queries, const RowProduct &product, int64_t row,
               const int32_t *turned, int64_t key, int64_t count,
               LinesAhead &ahead) {
  Bytes sums[Rows][2][2];
  const int64_t words = product.k / 4;
  const int8_t *digits[Rows];
#pragma GCC unroll 4
  for (int r = 0; r < Rows; ++r) {
    digits[r] = queries.digits + (row + r) * 2 * product.k;
#pragma GCC unroll 2
    for (int d = 0; d < 2; ++d)
      sums[r][d][0] = sums[r][d][1] =
          _mm512_set1_epi32(queries.offsets[2 * (row + r) + d]);
  }
  for (int64_t w = 0; w < words; ++w) {
    ahead.fetch(); // of 32 keys there are twice as many lines as words
    ahead.fetch();
    const Bytes first = _mm512_load_si512(turned + w * 2 * kLanes);
    const Bytes second = _mm512_load_si512(turned + (w * 2 + 1) * kLanes);
#pragma GCC unroll 4
    for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 2
      for (int d = 0; d < 2; ++d) {
        const Bytes digit = repeatBytes(digits[r] + 8 * w + 4 * d);
        sums[r][d][0] = addProducts(sums[r][d][0], first, digit);
        sums[r][d][1] = addProducts(sums[r][d][1], second, digit);
      }
  }
#pragma GCC unroll 4
  for (int r = 0; r < Rows; ++r) {
    const __m512 scale =
        _mm512_set1_ps(product.alpha * queries.scales[row + r]);
    float *to = product.c + (row + r) * product.leadingC + key;
#pragma GCC unroll 2
    for (int v = 0; v < 2; ++v) {
      const int64_t left = std::clamp<int64_t>(count - v * kLanes, 0, kLanes);
      _mm512_mask_storeu_ps(
          to + v * kLanes, __mmask16((1u << left) - 1),
          _mm512_mul_ps(joined(sums[r][0][v], sums[r][1][v]), scale));
    }
  }
}

/// Of `Rows` rows of weights, each of four positions and digits; 256 positions.
constexpr int64_t kPositions = 256;
template <int Rows> struct WeightDigits {
  int8_t digits[Rows][2 * kPositions];
  float scales[Rows];

  WeightDigits(const WeightedRows &sum, int64_t row, int64_t from,
               int64_t count) {
    for (int r = 0; r < Rows; ++r) {
      const float *weights =
          sum.weights + (row + r) * sum.leadingWeights + from;
      const DigitScale by = DigitScale::of(largestOf(weights, count), 65535);
      scales[r] = by.scale;
      const __m512 factor = _mm512_set1_ps(by.factor);
      for (int64_t i = 0; i < count; i += kLanes)
        splitDigits<false>(loadSome(weights + i, count - i), factor,
                           digits[r] + 2 * i);
    }
  }
};

/// Bytes of the lower or the upper half of each lane of 128 bits.
template <bool IsUpper>
[[gnu::always_inline]] inline Bytes interleaved(Bytes a, Bytes b) {
  constexpr __mmask64 all = ~__mmask64(0);
  return IsUpper ? _mm512_maskz_unpackhi_epi8(all, a, b)
                 : _mm512_maskz_unpacklo_epi8(all, a, b);
}

/// Sums of half of 64 columns, of each 16 the first 8 or the others: to found[r][v]
/// of row r, whose lane l of 128 bits has columns 16 l + 4 v (+ 8) on. Apart, since
/// compilers keep the sums of a loop in registers where it is the only one.
template <int Rows, bool IsUpper>
[[gnu::noinline]] void addColumns(const WeightDigits<Rows> &weights,
                                  const int8_t *b, int64_t step, int64_t count,
                                  LinesAhead &ahead, __m512 (*found)[4]) {
  Bytes sums[Rows][2][2];
#pragma GCC unroll 4
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 2
    for (int d = 0; d < 2; ++d)
      sums[r][d][0] = sums[r][d][1] = _mm512_setzero_si512();
  const int8_t *digits = weights.digits[0];
  constexpr __mmask32 pairs = ~__mmask32(0);
  int64_t places[4] = {0, step, 2 * step, 3 * step};
  for (int64_t k = 0; k < count; k += 4, b += 4 * step, digits += 8) {
    ahead.fetch(); // of four rows of 64 columns, in two halves
    ahead.fetch();
    if (count - k < 4) // rows that are not there have the digits 0
      for (int64_t i = count - k; i < 4; ++i)
        places[i] = 0;
    const Bytes first =
        interleaved<IsUpper>(loadBytes(b), loadBytes(b + places[1]));
    const Bytes last = interleaved<IsUpper>(loadBytes(b + places[2]),
                                            loadBytes(b + places[3]));
    const Bytes lower = _mm512_maskz_unpacklo_epi16(pairs, first, last);
    const Bytes upper = _mm512_maskz_unpackhi_epi16(pairs, first, last);
#pragma GCC unroll 4
    for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 2
      for (int d = 0; d < 2; ++d) {
        const Bytes digit = repeatBytes(digits + r * 2 * kPositions + 4 * d);
        sums[r][d][0] = addProducts(sums[r][d][0], digit, lower);
        sums[r][d][1] = addProducts(sums[r][d][1], digit, upper);
      }
  }
#pragma GCC unroll 4
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < 2; ++v)
      found[r][v] = joined(sums[r][0][v], sums[r][1][v]);
}

/// Adds `Rows` of C in 64 columns.
template <int Rows>
void addLine(const WeightedRows &sum, int64_t row, int64_t from, int64_t count,
             const WeightDigits<Rows> &weights, int64_t column,
             LinesAhead &ahead) {
  constexpr __mmask16 all = 0xffff;
  const auto *rows =
      reinterpret_cast<const int8_t *>(sum.b) + from * sum.rowStepB + column;
  // Vector v has columns 16 l + 4 v on in lane l.
  __m512 found[Rows][4];
  addColumns<Rows, false>(weights, rows, sum.rowStepB, count, ahead, found);
  addColumns<Rows, true>(weights, rows, sum.rowStepB, count, ahead,
                         reinterpret_cast<__m512(*)[4]>(&found[0][2]));
#pragma GCC unroll 4
  for (int r = 0; r < Rows; ++r) {
    const __m512 *of = found[r];
    const __m512 a = _mm512_maskz_shuffle_f32x4(all, of[0], of[1], 0x88);
    const __m512 b = _mm512_maskz_shuffle_f32x4(all, of[0], of[1], 0xdd);
    const __m512 c = _mm512_maskz_shuffle_f32x4(all, of[2], of[3], 0x88);
    const __m512 d = _mm512_maskz_shuffle_f32x4(all, of[2], of[3], 0xdd);
    const __m512 lines[] = {_mm512_maskz_shuffle_f32x4(all, a, c, 0x88),
                            _mm512_maskz_shuffle_f32x4(all, b, d, 0x88),
                            _mm512_maskz_shuffle_f32x4(all, a, c, 0xdd),
                            _mm512_maskz_shuffle_f32x4(all, b, d, 0xdd)};
    const __m512 scale = _mm512_set1_ps(weights.scales[r]);
    float *to = sum.c + (row + r) * sum.leadingC + column;
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v)
      _mm512_storeu_ps(
          to + v * kLanes,
          _mm512_fmadd_ps(lines[v], scale, _mm512_loadu_ps(to + v * kLanes)));
  }
}

template <int Rows>
void addSomeRows(const WeightedRows &sum, int64_t row, LinesAhead &ahead) {
  for (int64_t from = 0; from < sum.k; from += kPositions) {
    const int64_t count = std::min(kPositions, sum.k - from);
    const WeightDigits<Rows> weights(sum, row, from, count);
    for (int64_t column = 0; column < sum.n; column += kLine)
      addLine<Rows>(sum, row, from, count, weights, column, ahead);
  }
}

} // namespace

DigitRows DigitRows::of(const float *x, int64_t step, int64_t rows,
                        int64_t depth, std::byte *to) {
  auto *digits = reinterpret_cast<int8_t *>(to);
  auto *scales = reinterpret_cast<float *>(to + rows * 2 * depth);
  auto *offsets = reinterpret_cast<int32_t *>(scales + rows);
  for (int64_t r = 0; r < rows; ++r) {
    const float *row = x + r * step;
    const DigitScale by = DigitScale::of(largestOf(row, depth), 32639);
    int8_t *own = digits + r * 2 * depth;
    for (int64_t i = 0; i < depth; i += kLanes)
      splitDigits<true>(_mm512_loadu_ps(row + i), _mm512_set1_ps(by.factor),
                        own + 2 * i);
    scales[r] = by.scale;
    // Even words are upper digits, odd ones lower.
    Bytes sums = _mm512_setzero_si512();
    for (int64_t i = 0; i < 2 * depth; i += kLine)
      sums =
          addProducts(sums, _mm512_set1_epi8(int8_t(128)), loadBytes(own + i));
    alignas(64) int32_t lanes[kLanes];
    _mm512_store_si512(lanes, sums);
    for (int d = 0; d < 2; ++d) {
      offsets[2 * r + d] = 0;
      for (int64_t i = d; i < kLanes; i += 2)
        offsets[2 * r + d] -= lanes[i];
    }
  }
  return {digits, scales, offsets};
}

void multiplyDigitRows(const DigitRows &rows, const RowProduct &product) {
  alignas(64) int32_t turned[2 * kLanes * kMostDepth / 4];
  LinesAhead ahead(product.next, product.n);
  const auto *keys = reinterpret_cast<const int8_t *>(product.b);
  const int64_t step = product.rowStepB;
  for (int64_t key = 0; key < product.n; key += 2 * kLanes) {
    const int64_t count = std::min(2 * kLanes, product.n - key);
    for (int64_t half = 0; half < 2; ++half) {
      const int64_t first = std::min(half * kLanes, count - 1);
      const int64_t some = std::min(kLanes, count - first);
      const auto turn = some == kLanes ? turnKeys<true> : turnKeys<false>;
      turn(keys + (key + first) * step, step, some, product.k,
           turned + half * kLanes);
    }
    int64_t row = 0;
    for (; row + 4 <= product.m; row += 4)
      scoreKeys<4>(rows, product, row, turned, key, count, ahead);
    for (; row + 2 <= product.m; row += 2)
      scoreKeys<2>(rows, product, row, turned, key, count, ahead);
    if (row < product.m)
      scoreKeys<1>(rows, product, row, turned, key, count, ahead);
  }
}

void addDigitRows(const WeightedRows &sum) {
  LinesAhead ahead(sum.next, sum.k);
  int64_t row = 0;
  for (; row + 4 <= sum.m; row += 4)
    addSomeRows<4>(sum, row, ahead);
  for (; row + 2 <= sum.m; row += 2)
    addSomeRows<2>(sum, row, ahead);
  if (row < sum.m)
    addSomeRows<1>(sum, row, ahead);
}

#pragma GCC pop_options

#else

bool hasDigitRows() { return false; }
DigitRows DigitRows::of(const float *, int64_t, int64_t, int64_t, std::byte *) {
  return {};
}
void multiplyDigitRows(const DigitRows &, const RowProduct &) {}
void addDigitRows(const WeightedRows &) {}

#endif

} // namespace shardc::runtime::host
