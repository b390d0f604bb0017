#include "runtime/kernels/host/simd/Tiles.h"

#include "runtime/base/ProcessorLevel.h"
#include "runtime/kernels/host/KernelThreads.h"
#include "runtime/kernels/host/simd/IntegerPanels.h"
#include "runtime/kernels/host/simd/PackedMatrix.h"
#include "runtime/kernels/host/simd/PackedParts.h"

#include <algorithm>
#include <type_traits>

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace shardc::runtime::host {
namespace {

constexpr int64_t kTileRows = 16;
/// Of a block of B: pairs of rows, 16 columns.
constexpr int64_t kBlockElements = kTileDepth * kPanelColumns;

template <typename T> BFloat16 roundedOnce(T value) {
  if constexpr (std::is_same_v<T, BFloat16>)
    return value;
  else
    return BFloat16(float(value));
}

} // namespace

int64_t tiledMatrixBytes(const TensorView &matrix) {
  return tiledDepth(matrix.dims[0]) * panelsOf(matrix.dims[1]) * kPanelColumns *
         2;
}

template <typename T>
static void packPartOf(const TensorView &matrix, Span rows, int64_t panel,
                       BFloat16 *to) {
  const int64_t columns = matrix.dims[1], depth = tiledDepth(matrix.dims[0]);
  BFloat16 *out = to + panel * depth * kPanelColumns;
  const int64_t first = panel * kPanelColumns;
  const int64_t count = std::min(kPanelColumns, columns - first);
  const int64_t end = rows.end == matrix.dims[0] ? depth : rows.end;
  if (count < kPanelColumns || rows.end < end)
    std::fill(out + rows.begin * kPanelColumns, out + end * kPanelColumns,
              BFloat16());
  for (int64_t k = rows.begin; k < rows.end; ++k) {
    const T *from =
        matrix.as<T>() + k * matrix.strides[0] + first * matrix.strides[1];
    BFloat16 *row = out + k / 2 * 2 * kPanelColumns + k % 2;
    for (int64_t j = 0; j < count; ++j)
      row[2 * j] = roundedOnce(from[j * matrix.strides[1]]);
  }
}

template <typename T>
static void packTilesOf(const TensorView &matrix, std::byte *to,
                        SourcePages pages) {
  auto *out = reinterpret_cast<BFloat16 *>(to);
  packInParts(matrix, pages, [&](Span rows, int64_t panel) {
    packPartOf<T>(matrix, rows, panel, out);
  });
}

void packTiles(const TensorView &matrix, std::byte *to, SourcePages pages) {
  switch (matrix.element) {
  case artifact::ElementType_Float32:
    return packTilesOf<float>(matrix, to, pages);
  case artifact::ElementType_Float16:
    return packTilesOf<Float16>(matrix, to, pages);
  default:
    return packTilesOf<BFloat16>(matrix, to, pages);
  }
}

#if defined(__x86_64__) && defined(__linux__)

//===----------------------------------------------------------------------===//
// Where there are tiles
//===----------------------------------------------------------------------===//

namespace {

constexpr unsigned kBFloat16 = 1u << 22, kBytes = 1u << 25;

/// Tiles of those elements.
bool hasTilesOf(unsigned elements) {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d))
    return false;
  // All of these processors have it; that the system keeps vectors, too.
  if (!hasLevel(ProcessorLevel::Amx))
    return false;
  constexpr unsigned kTiles = 1u << 24;
  if ((d & elements) == 0 || (d & kTiles) == 0)
    return false;
  // The state of tiles is large: Linux keeps it for those who ask (5.16 on).
  constexpr int kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

} // namespace

bool hasTiles() {
  static const bool has = hasTilesOf(kBFloat16);
  return has;
}

bool hasIntegerTiles() {
  static const bool has = hasTilesOf(kBytes);
  return has;
}

namespace {

#pragma GCC push_options
#pragma GCC target(                                                            \
    "avx512f,avx512vl,avx512bw,avx512bf16,amx-tile,amx-bf16,amx-int8")

/// As LDTILECFG reads it: rows and bytes of a row of each tile.
struct alignas(64) TileShapes {
  uint8_t palette = 1, startRow = 0, reserved[14] = {};
  uint16_t rowBytes[16] = {};
  uint8_t rows[16] = {};
};

// The tiles of a step: sums of 32 rows and columns, and what they are made of.
//
//             B 6       B 7
//   A 4      C 0       C 1
//   A 5      C 2       C 3
void setShapes(int64_t upper, int64_t lower) {
  TileShapes shapes;
  const int64_t rows[8] = {upper, upper, lower, lower, upper, lower, 16, 16};
  for (int tile = 0; tile < 8; ++tile) {
    shapes.rows[tile] = static_cast<uint8_t>(std::max<int64_t>(rows[tile], 1));
    shapes.rowBytes[tile] = 64;
  }
  // The instruction's operand is declared as its first bytes only.
  asm volatile("" ::"r"(&shapes) : "memory");
  _tile_loadconfig(&shapes);
}

/// Rows of C of one tile, from where TILESTORED has left them.
void storeSums(const TileProduct &product, const float *sums, int64_t row,
               int64_t rows, int64_t panel) {
  const int64_t first = panel * kPanelColumns;
  const int64_t count = std::min(kPanelColumns, product.n - first);
  const auto mask = static_cast<__mmask16>((1u << count) - 1);
  const __m512 alpha = _mm512_set1_ps(product.alpha);
  const __m512 beta = _mm512_set1_ps(product.beta);
  for (int64_t i = 0; i < rows; ++i, sums += kPanelColumns) {
    if (product.sums) {
      float *c = product.sums + (row + i) * product.leadingC + first;
      __m512 sum = _mm512_mul_ps(_mm512_load_ps(sums), alpha);
      if (product.beta != 0)
        sum = _mm512_add_ps(
            sum, _mm512_mul_ps(beta, _mm512_maskz_loadu_ps(mask, c)));
      _mm512_mask_storeu_ps(c, mask, sum);
      continue;
    }
    BFloat16 *c = product.c + (row + i) * product.leadingC + first;
    __m512 sum = _mm512_mul_ps(_mm512_load_ps(sums), alpha);
    if (product.beta != 0) {
      // The plain ones are warned of in GCC 12.
      const __m512i bits = _mm512_maskz_slli_epi32(
          0xffff,
          _mm512_maskz_cvtepu16_epi32(0xffff,
                                      _mm256_maskz_loadu_epi16(mask, c)),
          16);
      sum = _mm512_add_ps(sum, _mm512_mul_ps(beta, _mm512_castsi512_ps(bits)));
    }
    const __m256bh rounded = _mm512_cvtneps_pbh(sum);
    _mm256_mask_storeu_epi16(c, mask,
                             reinterpret_cast<const __m256i &>(rounded));
  }
}

/// What is multiplied in one go: up to 32 rows, one panel or two, and a part of
/// k, of which another leaves its sums for the next.
struct TileStep {
  int64_t row, upper, lower; ///< rows of the upper tiles, and of the lower
  int64_t panel;
  int64_t begin, end; ///< of k
  float *sums;        ///< four tiles
  Span ahead;         ///< rows of the next two panels' blocks to ask for
};

/// Whose shapes are set. Rows that are `Streamed` do not take the place of B in
/// the first cache.
template <bool TwoPanels, bool TwoRows, bool Streamed>
void multiplyStep(const TileProduct &product, const TileStep &step) {
  constexpr int64_t kTile = kTileRows * kPanelColumns;
  const int64_t depth = tiledDepth(product.k);
  const int64_t rowBytes = product.rowStepA * 2;
  const int64_t panelStep =
      product.panelStepB ? product.panelStepB : depth * kPanelColumns;
  const auto *b = reinterpret_cast<const BFloat16 *>(product.b) +
                  step.panel * panelStep + step.begin * kPanelColumns;
  const auto *nextB = b + panelStep;
  const BFloat16 *ahead = nextB + panelStep + step.ahead.begin * kTileDepth;
  const int64_t countAhead = step.ahead.end - step.ahead.begin;
  const BFloat16 *a = product.a + step.row * product.rowStepA + step.begin;
  const BFloat16 *nextA = a + kTileRows * product.rowStepA;
  float *sums = step.sums;
  if (step.begin == 0) {
    _tile_zero(0);
    if constexpr (TwoPanels)
      _tile_zero(1);
    if constexpr (TwoRows)
      _tile_zero(2);
    if constexpr (TwoPanels && TwoRows)
      _tile_zero(3);
  } else {
    _tile_loadd(0, sums, 64);
    if constexpr (TwoPanels)
      _tile_loadd(1, sums + kTile, 64);
    if constexpr (TwoRows)
      _tile_loadd(2, sums + 2 * kTile, 64);
    if constexpr (TwoPanels && TwoRows)
      _tile_loadd(3, sums + 3 * kTile, 64);
  }
  for (int64_t k = step.begin; k < step.end; k += kTileDepth) {
    _tile_loadd(6, b, 64);
    if constexpr (Streamed)
      _tile_stream_loadd(4, a, rowBytes);
    else
      _tile_loadd(4, a, rowBytes);
    _tile_dpbf16ps(0, 4, 6);
    if constexpr (TwoPanels) {
      _tile_loadd(7, nextB, 64);
      _tile_dpbf16ps(1, 4, 7);
    }
    if constexpr (TwoRows) {
      if constexpr (Streamed)
        _tile_stream_loadd(5, nextA, rowBytes);
      else
        _tile_loadd(5, nextA, rowBytes);
      _tile_dpbf16ps(2, 5, 6);
    }
    if constexpr (TwoPanels && TwoRows)
      _tile_dpbf16ps(3, 5, 7);
    for (int64_t i = 0; i < countAhead * kTileDepth; i += kTileDepth) {
      _mm_prefetch(ahead + i, _MM_HINT_T1);
      _mm_prefetch(ahead + panelStep + i, _MM_HINT_T1);
    }
    ahead += kBlockElements;
    a += kTileDepth;
    nextA += kTileDepth;
    b += kBlockElements;
    nextB += kBlockElements;
  }
  _tile_stored(0, sums, 64);
  if constexpr (TwoPanels)
    _tile_stored(1, sums + kTile, 64);
  if constexpr (TwoRows)
    _tile_stored(2, sums + 2 * kTile, 64);
  if constexpr (TwoPanels && TwoRows)
    _tile_stored(3, sums + 3 * kTile, 64);
  if (step.end < depth)
    return;
  const int64_t lowerRow = step.row + kTileRows;
  storeSums(product, sums, step.row, step.upper, step.panel);
  if constexpr (TwoPanels)
    storeSums(product, sums + kTile, step.row, step.upper, step.panel + 1);
  if constexpr (TwoRows)
    storeSums(product, sums + 2 * kTile, lowerRow, step.lower, step.panel);
  if constexpr (TwoPanels && TwoRows)
    storeSums(product, sums + 3 * kTile, lowerRow, step.lower, step.panel + 1);
}

// Of A so much stays in the second cache while panels go by, and of two panels
// so much in the first one while rows do.
constexpr int64_t kMostRowBytes = 1 << 20, kMostRowsAtOnce = 512;
constexpr int64_t kDepthAtOnce = 256;
constexpr int64_t kRowsOfStep = 2 * kTileRows;

/// Which rows of the next two panels' blocks the rows [row, row + 32) of A ask
/// for: each has its share, so that memory works while tiles are multiplied. None
/// where B is in a cache.
Span rowsAhead(const TileProduct &product, int64_t panel, Span panels,
               int64_t row, int64_t rows) {
  const int64_t each = (kTileRows * kRowsOfStep + rows - 1) / rows;
  const int64_t first = row / kRowsOfStep * each;
  if (product.isCached || panel + 3 >= panels.end || first >= kTileRows)
    return {0, 0};
  return {first, std::min(first + each, kTileRows)};
}

/// Rows [begin, end), all of shapes of 16, and panels `panels`.
void multiplyWholeRows(const TileProduct &product, int64_t begin, int64_t end,
                       Span panels) {
  alignas(64) float sums[kMostRowsAtOnce * 2 * kPanelColumns];
  const int64_t depth = tiledDepth(product.k);
  const bool isOne = end - begin == kRowsOfStep;
  const int64_t each = isOne ? std::max(depth, kTileDepth) : kDepthAtOnce;
  for (int64_t panel = panels.begin; panel < panels.end; panel += 2) {
    const bool isTwo = panel + 1 < panels.end;
    const auto multiply = isOne   ? (isTwo ? multiplyStep<true, true, false>
                                           : multiplyStep<false, true, false>)
                          : isTwo ? multiplyStep<true, true, true>
                                  : multiplyStep<false, true, true>;
    for (int64_t k = 0; k == 0 || k < depth; k += each)
      for (int64_t row = begin; row < end; row += kRowsOfStep)
        multiply(product,
                 {row, kTileRows, kTileRows, panel, k,
                  std::min(depth, k + each),
                  sums + (row - begin) * 2 * kPanelColumns,
                  rowsAhead(product, panel, panels, row - begin, end - begin)});
  }
}

/// Fewer than 32 rows, from `row` on.
void multiplyLastRows(const TileProduct &product, int64_t row, Span panels) {
  alignas(64) float sums[kRowsOfStep * 2 * kPanelColumns];
  const int64_t upper = std::min(product.m - row, kTileRows);
  const int64_t lower = product.m - row - upper;
  for (int64_t panel = panels.begin; panel < panels.end; panel += 2) {
    const bool isTwo = panel + 1 < panels.end;
    const auto multiply = lower > 0 ? (isTwo ? multiplyStep<true, true, false>
                                             : multiplyStep<false, true, false>)
                          : isTwo   ? multiplyStep<true, false, false>
                                    : multiplyStep<false, false, false>;
    multiply(product, {row, upper, lower, panel, 0, tiledDepth(product.k), sums,
                       rowsAhead(product, panel, panels, 0, kRowsOfStep)});
  }
}

void multiplyPanelsOfTiles(const TileProduct &product, Span panels) {
  const int64_t whole = product.m / kRowsOfStep * kRowsOfStep;
  const int64_t fits = kMostRowBytes / (tiledDepth(product.k) * 2 + 1);
  const int64_t each = std::clamp(fits / kRowsOfStep * kRowsOfStep, kRowsOfStep,
                                  kMostRowsAtOnce);
  if (whole > 0)
    setShapes(kTileRows, kTileRows);
  for (int64_t row = 0; row < whole; row += each)
    multiplyWholeRows(product, row, std::min(whole, row + each), panels);
  if (const int64_t rest = product.m - whole; rest > 0) {
    setShapes(std::min(rest, kTileRows), rest - std::min(rest, kTileRows));
    multiplyLastRows(product, whole, panels);
  }
  _tile_release();
}

inline __m512i multiplyBy(int32_t number, __m512i vector) {
  return _mm512_mullo_epi32(vector, _mm512_set1_epi32(number));
}

inline __m512d widened(const float *numbers, __mmask16 mask) {
  return _mm512_maskz_cvtps_pd(
      0xff, _mm256_maskz_loadu_ps(static_cast<__mmask8>(mask), numbers));
}

inline void storeScaled(__m256i sums, __m512d scales, __mmask16 mask,
                        int32_t *to) {
  _mm256_mask_storeu_ps(
      to, static_cast<__mmask8>(mask),
      _mm512_maskz_cvtpd_ps(
          0xff, _mm512_mul_pd(_mm512_maskz_cvtepi32_pd(0xff, sums), scales)));
}

/// What finishIntegers does, of some rows of a panel.
void finishRows(const IntegerProduct &product, const int32_t *dots,
                int64_t first, int64_t count, int64_t panel) {
  const int64_t at = panel * kPanelColumns;
  const int64_t columns = std::min(kPanelColumns, product.n - at);
  const auto mask = static_cast<__mmask16>((1u << columns) - 1);
  const __m512i zeroB = _mm512_maskz_loadu_epi32(mask, product.zerosB + at);
  const __m512i ofA = _mm512_sub_epi32(
      _mm512_loadu_si512(product.b +
                         (panel + 1) * integerPanelBytes(product.k) -
                         4 * kPanelColumns),
      multiplyBy(static_cast<int32_t>(product.k), zeroB));
  __m512d low = {}, high = {}; // scales of columns
  if (product.scalesA) {
    low = widened(product.scalesB + at, mask);
    high = widened(product.scalesB + at + 8, mask >> 8);
  }
  for (int64_t row = first; row < first + count; ++row, dots += kPanelColumns) {
    const __m512i sums = _mm512_sub_epi32(
        _mm512_sub_epi32(_mm512_loadu_si512(dots),
                         multiplyBy(product.sumsA[row], zeroB)),
        multiplyBy(product.zerosA[row], ofA));
    int32_t *c = product.rows[row] + at;
    if (!product.scalesA) {
      _mm512_mask_storeu_epi32(c, mask, sums);
      continue;
    }
    const __m512d scale = _mm512_set1_pd(product.scalesA[row]);
    storeScaled(_mm512_maskz_extracti64x4_epi64(0xff, sums, 0),
                _mm512_mul_pd(scale, low), mask, c);
    storeScaled(_mm512_maskz_extracti64x4_epi64(0xff, sums, 1),
                _mm512_mul_pd(scale, high), mask >> 8, c + 8);
  }
}

/// Of bytes: up to 32 rows, whose shapes are set, and one panel or two.
template <bool TwoPanels, bool TwoRows>
void multiplyIntegerStep(const IntegerProduct &product, int64_t row,
                         int64_t upper, int64_t lower, int64_t panel) {
  const int64_t depth = integerDepth(product.k);
  const std::byte *b = product.b + panel * integerPanelBytes(product.k);
  const std::byte *nextB = b + integerPanelBytes(product.k);
  const int8_t *a = product.a + row * depth, *nextA = a + kTileRows * depth;
  _tile_zero(0);
  if constexpr (TwoPanels)
    _tile_zero(1);
  if constexpr (TwoRows)
    _tile_zero(2);
  if constexpr (TwoPanels && TwoRows)
    _tile_zero(3);
  for (int64_t k = 0; k < depth; k += kIntegerDepth) {
    _tile_loadd(6, b + k * kPanelColumns, 64);
    _tile_loadd(4, a + k, depth);
    _tile_dpbsud(0, 4, 6);
    if constexpr (TwoPanels) {
      _tile_loadd(7, nextB + k * kPanelColumns, 64);
      _tile_dpbsud(1, 4, 7);
    }
    if constexpr (TwoRows) {
      _tile_loadd(5, nextA + k, depth);
      _tile_dpbsud(2, 5, 6);
    }
    if constexpr (TwoPanels && TwoRows)
      _tile_dpbsud(3, 5, 7);
  }
  alignas(64) int32_t dots[kTileRows * kPanelColumns];
  _tile_stored(0, dots, 64);
  finishRows(product, dots, row, upper, panel);
  if constexpr (TwoPanels) {
    _tile_stored(1, dots, 64);
    finishRows(product, dots, row, upper, panel + 1);
  }
  if constexpr (TwoRows) {
    _tile_stored(2, dots, 64);
    finishRows(product, dots, row + kTileRows, lower, panel);
  }
  if constexpr (TwoPanels && TwoRows) {
    _tile_stored(3, dots, 64);
    finishRows(product, dots, row + kTileRows, lower, panel + 1);
  }
}

/// Two panels stay in a cache while all rows go through them, which stay in
/// the second one.
void multiplyIntegersInTiles(const IntegerProduct &product, Span panels) {
  constexpr int64_t kBytesOfRows = 1 << 19, kRows = 2 * kTileRows;
  const int64_t most =
      std::max(kBytesOfRows / (integerDepth(product.k) + 1) / kRows,
               int64_t(1)) *
      kRows;
  for (int64_t begin = 0, end; begin < product.m; begin = end) {
    // Rows that fill tiles, and then those that do not.
    const int64_t left = product.m - begin;
    end = begin + (left < kRows ? left : std::min(left / kRows * kRows, most));
    const int64_t upper = std::min(kTileRows, end - begin);
    const int64_t lower = std::min(kTileRows, end - begin - upper);
    setShapes(upper, lower);
    for (int64_t p = panels.begin; p < panels.end; p += 2) {
      const bool isTwo = p + 1 < panels.end;
      const auto step = lower > 0 ? (isTwo ? multiplyIntegerStep<true, true>
                                           : multiplyIntegerStep<false, true>)
                                  : (isTwo ? multiplyIntegerStep<true, false>
                                           : multiplyIntegerStep<false, false>);
      for (int64_t row = begin; row < end; row += kRows)
        step(product, row, upper, lower, p);
    }
  }
  _tile_release();
}

/// What is below 2^-126 becomes zero, as in products.
void roundRow(const float *row, int64_t count, BFloat16 *to) {
  int64_t i = 0;
  for (; i + 32 <= count; i += 32) {
    const __m512bh rounded = _mm512_cvtne2ps_pbh(_mm512_loadu_ps(row + i + 16),
                                                 _mm512_loadu_ps(row + i));
    _mm512_storeu_si512(to + i, reinterpret_cast<const __m512i &>(rounded));
  }
  for (; i < count; i += 16) {
    const int64_t left = std::min<int64_t>(16, count - i);
    const auto mask = static_cast<__mmask16>((1u << left) - 1);
    const __m256bh rounded =
        _mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(mask, row + i));
    _mm256_mask_storeu_epi16(to + i, mask,
                             reinterpret_cast<const __m256i &>(rounded));
  }
}

#pragma GCC pop_options

} // namespace

void multiplyIntegerTiles(const IntegerProduct &product, Span panels) {
  multiplyIntegersInTiles(product, panels);
}

void roundToTiles(const float *row, int64_t count, BFloat16 *to) {
  roundRow(row, count, to);
}

void multiplyTilesOf(const TileProduct &product, Span panels) {
  multiplyPanelsOfTiles(product, panels);
}

void multiplyTiles(const TileProduct &product) {
  const int64_t panels = panelsOf(product.n);
  if (product.m == 0 || panels == 0)
    return;
  // A tile takes as long as a row of a panel does elsewhere.
  const int64_t threads =
      threadsForProduct(panels, std::max<int64_t>(product.m / kTileRows, 1),
                        product.n, product.k);
  shareRanges(panels, threads, panelsAtOnce(panels, threads),
              [&](int64_t begin, int64_t end) {
                multiplyPanelsOfTiles(product, {begin, end});
              });
}

#else

bool hasTiles() { return false; }
bool hasIntegerTiles() { return false; }
void multiplyIntegerTiles(const IntegerProduct &, Span) {}
void roundToTiles(const float *, int64_t, BFloat16 *) {}
void multiplyTiles(const TileProduct &) {}
void multiplyTilesOf(const TileProduct &, Span) {}

#endif

} // namespace shardc::runtime::host
