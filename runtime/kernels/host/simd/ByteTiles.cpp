//===- ByteTiles.cpp - Products of ByteLoops.h in the tiles of AMX --------===//

#include "runtime/kernels/host/simd/ByteTiles.h"

#include "runtime/kernels/host/simd/IntegerPanels.h"

#include <algorithm>
#include <cstring>

#if defined(__x86_64__) && defined(__linux__)
#include <immintrin.h>
#endif

namespace shardc::runtime::host {

#if defined(__x86_64__) && defined(__linux__)

namespace {

constexpr int64_t kTileRows = 16, kColumns = 16;
constexpr int64_t kMostPanels = 4, kMostRows = 1024; ///< of B
/// Bytes of A that a tile has.
constexpr int64_t kMostDepth = 64;

int64_t rowsOfBlock(const ByteProduct &product) {
  return product.blockWords * (product.areHalves ? 8 : 4);
}

#pragma GCC push_options
#pragma GCC target("avx512f,avx512vl,avx512bw,avx512vnni,amx-tile,amx-int8")

/// As LDTILECFG reads it.
struct alignas(64) Shapes {
  uint8_t palette = 1, startRow = 0, reserved[14] = {};
  uint16_t rowBytes[16] = {};
  uint8_t rows[16] = {};
};

/// C 0 and 1 = A 2 and 3, of two groups of rows, times B 4.
void setShapes(int64_t upper, int64_t lower, int64_t depth) {
  Shapes shapes;
  const int64_t rows[] = {upper, lower, upper, lower, depth / 4};
  const int64_t bytes[] = {64, 64, depth, depth, 64};
  for (int tile = 0; tile < 5; ++tile) {
    shapes.rows[tile] = static_cast<uint8_t>(std::max<int64_t>(rows[tile], 1));
    shapes.rowBytes[tile] = static_cast<uint16_t>(bytes[tile]);
  }
  _tile_loadconfig(&shapes);
}

/// Words of eight halves as two lines of bytes: even ones first.
void widen(const uint32_t *words, int64_t count, uint32_t *lines) {
  const __m512i mask = _mm512_set1_epi32(0x0f0f0f0f);
  for (int64_t w = 0; w < count; ++w, words += 16, lines += 32) {
    const __m512i all = _mm512_loadu_si512(words);
    _mm512_storeu_si512(lines, _mm512_and_si512(all, mask));
    _mm512_storeu_si512(
        lines + 16,
        _mm512_and_si512(_mm512_maskz_srli_epi32(0xffff, all, 4), mask));
  }
}

/// Adds the dots of a block to sums, as addBlock of ByteLoops.inc does.
[[gnu::always_inline]] inline void
addBlock(const ByteProduct &product, const int32_t *dots, int64_t row,
         int64_t rows, int64_t block, __m512 scale, __m512 zero, float *sums) {
  const float *scalesA = product.a.scales + row * product.a.rowBlocks + block;
  const float *sumsA = product.a.sums + row * product.a.rowBlocks + block;
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t at = r * product.a.rowBlocks;
    const __m512 numbers = _mm512_maskz_cvtepi32_ps(
        0xffff, _mm512_load_si512(dots + r * kColumns));
    const __m512 dot =
        _mm512_fnmadd_ps(zero, _mm512_set1_ps(sumsA[at]), numbers);
    const __m512 factor = _mm512_mul_ps(scale, _mm512_set1_ps(scalesA[at]));
    float *sum = sums + r * kColumns;
    _mm512_store_ps(sum, _mm512_fmadd_ps(factor, dot, _mm512_load_ps(sum)));
  }
}

/// Up to 32 rows, whose shapes are set, and one panel.
void multiplyPanel(const ByteProduct &product, const uint32_t *lines,
                   int64_t row, int64_t upper, int64_t lower, int64_t panel) {
  const int64_t columns = std::min(kColumns, product.n - panel * kColumns);
  const auto mask = static_cast<__mmask16>((1u << columns) - 1);
  const int64_t rowsB = rowsOfBlock(product),
                step = std::min(rowsB, kMostDepth);
  const int64_t rowBytes = product.a.rowBytes;
  const int8_t *a = product.a.bytes + row * rowBytes;
  const float *scales = product.scales + panel * product.scaleStep;
  const float *zeros = product.zeros + panel * product.scaleStep;
  float *c = product.c + row * product.leadingC + panel * kColumns;
  alignas(64) float sums[2 * kTileRows * kColumns];
  alignas(64) int32_t dots[2 * kTileRows * kColumns];
  for (int64_t r = 0; r < upper + lower; ++r)
    _mm512_store_ps(sums + r * kColumns,
                    product.adds
                        ? _mm512_maskz_loadu_ps(mask, c + r * product.leadingC)
                        : _mm512_setzero_ps());
  for (int64_t b = 0; b < product.blocks; ++b) {
    _tile_zero(0);
    _tile_zero(1);
    for (int64_t k = b * rowsB; k < (b + 1) * rowsB; k += step) {
      _tile_loadd(4, lines + k / 4 * kColumns, 64);
      _tile_loadd(2, a + k, rowBytes);
      _tile_dpbsud(0, 2, 4);
      if (lower > 0) {
        _tile_loadd(3, a + kTileRows * rowBytes + k, rowBytes);
        _tile_dpbsud(1, 3, 4);
      }
    }
    _tile_stored(0, dots, 64);
    if (lower > 0)
      _tile_stored(1, dots + kTileRows * kColumns, 64);
    addBlock(product, dots, row, upper + lower, b,
             _mm512_loadu_ps(scales + b * kColumns),
             _mm512_loadu_ps(zeros + b * kColumns), sums);
  }
  for (int64_t r = 0; r < upper + lower; ++r)
    _mm512_mask_storeu_ps(c + r * product.leadingC, mask,
                          _mm512_load_ps(sums + r * kColumns));
}

void multiplyAll(const ByteProduct &product) {
  alignas(64) uint32_t room[kMostPanels * kMostRows / 4 * kColumns];
  const int64_t panels = (product.n + kColumns - 1) / kColumns;
  const int64_t words = product.blocks * product.blockWords;
  const uint32_t *lines[kMostPanels];
  for (int64_t p = 0; p < panels; ++p) {
    const uint32_t *from = product.words + p * product.panelStep;
    lines[p] = product.areHalves ? room + p * words * 2 * kColumns : from;
    if (product.areHalves)
      widen(from, words, room + p * words * 2 * kColumns);
  }
  const int64_t depth = std::min(rowsOfBlock(product), kMostDepth);
  for (int64_t row = 0; row < product.m; row += 2 * kTileRows) {
    const int64_t upper = std::min(kTileRows, product.m - row);
    const int64_t lower = std::min(kTileRows, product.m - row - upper);
    if (row == 0 || upper + lower < 2 * kTileRows)
      setShapes(upper, lower, depth);
    for (int64_t p = 0; p < panels; ++p)
      multiplyPanel(product, lines[p], row, upper, lower, p);
  }
  _tile_release();
}

#pragma GCC pop_options

} // namespace

bool takesByteTiles(const ByteProduct &product) {
  const int64_t rows = rowsOfBlock(product);
  // Halves are widened into room for so many.
  if (product.areHalves && product.blocks * rows > kMostRows)
    return false;
  return product.m >= kTileRows && (rows == 32 || rows % kMostDepth == 0) &&
         product.lastWords == product.blockWords && hasIntegerTiles();
}

void multiplyByteTiles(const ByteProduct &product) { multiplyAll(product); }

#else

bool takesByteTiles(const ByteProduct &) { return false; }
void multiplyByteTiles(const ByteProduct &) {}

#endif

} // namespace shardc::runtime::host
