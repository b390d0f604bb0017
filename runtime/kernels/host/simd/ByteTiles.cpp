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
constexpr int64_t kMostPanels = 8, kMostRows = 1024; ///< of B
constexpr int64_t kMostBlocks = kMostRows / 32;
/// Bytes of A that a tile has.
constexpr int64_t kMostDepth = 64;

int64_t rowsOfBlock(const ByteProduct &product) {
  return product.blockWords * 4 * product.parts;
}

#pragma GCC push_options
#pragma GCC target("avx512f,avx512vl,avx512bw,avx512vnni,amx-tile,amx-int8")

/// As LDTILECFG reads it.
struct alignas(64) Shapes {
  uint8_t palette = 1, startRow = 0, reserved[14] = {};
  uint16_t rowBytes[16] = {};
  uint8_t rows[16] = {};
};

/// C 0 = A 2 times B 4, and C 1 = A 3 times B 5 of the block behind it.
void setShapes(int64_t rowsOfA, int64_t depth) {
  Shapes shapes;
  for (int tile = 0; tile < 6; ++tile) {
    const bool isA = tile / 2 == 1, isB = tile / 2 == 2;
    shapes.rows[tile] = static_cast<uint8_t>(isB ? depth / 4 : rowsOfA);
    shapes.rowBytes[tile] = static_cast<uint16_t>(isA ? depth : 64);
  }
  // The instruction's operand is declared as its first bytes only.
  asm volatile("" ::"r"(&shapes) : "memory");
  _tile_loadconfig(&shapes);
}

/// Fields that are number `part` of each byte, as bytes, and in the order of A.
template <int Parts>
[[gnu::always_inline]] inline __m512i partOf(__m512i all, int part) {
  using Lines [[gnu::vector_size(64)]] = uint32_t;
  constexpr uint32_t mask = ((1u << (8 / Parts)) - 1) * 0x01010101u;
  return reinterpret_cast<__m512i>(
      reinterpret_cast<Lines>(all) >> uint32_t(8 / Parts * part) & mask);
}

/// What zero points are subtracted from before products are made: then a block
/// is one sum. Precondition: isCentred.
template <int Parts>
void centre(const uint32_t *words, const ByteProduct &product,
            const float *zeros, uint32_t *lines) {
  for (int64_t b = 0; b < product.blocks; ++b, zeros += kColumns) {
    const __m512i zero =
        _mm512_mullo_epi32(_mm512_and_si512(_mm512_maskz_cvtps_epi32(
                                                0xffff, _mm512_loadu_ps(zeros)),
                                            _mm512_set1_epi32(255)),
                           _mm512_set1_epi32(0x01010101));
    for (int64_t w = 0; w < product.blockWords; ++w, words += kColumns) {
      const __m512i all = _mm512_loadu_si512(words);
#pragma GCC unroll 4
      for (int part = 0; part < Parts; ++part, lines += kColumns)
        _mm512_storeu_si512(lines,
                            _mm512_sub_epi8(partOf<Parts>(all, part), zero));
    }
  }
}

/// Words as lines of bytes.
template <int Parts>
void widen(const uint32_t *words, int64_t count, uint32_t *lines) {
  for (int64_t w = 0; w < count; ++w, words += kColumns) {
    const __m512i all = _mm512_loadu_si512(words);
#pragma GCC unroll 4
    for (int part = 0; part < Parts; ++part, lines += kColumns)
      _mm512_storeu_si512(lines, partOf<Parts>(all, part));
  }
}

/// Whether what is left of a field fits a byte without its zero point, and sums
/// of a block are exact as float, so that the order of both does not matter.
bool isCentred(const ByteProduct &product) {
  constexpr int64_t kMostExactRows = 512;
  if (rowsOfBlock(product) > kMostExactRows)
    return false;
  const __m512 low = _mm512_set1_ps(product.parts > 1 ? -112 : 128);
  const __m512 high = _mm512_set1_ps(128);
  const int64_t panels = (product.n + kColumns - 1) / kColumns;
  for (int64_t p = 0; p < panels; ++p)
    for (int64_t b = 0; b < product.blocks; ++b) {
      const __m512 zero =
          _mm512_loadu_ps(product.zeros + p * product.scaleStep + b * kColumns);
      const __m512 whole = _mm512_maskz_cvtepi32_ps(
          0xffff, _mm512_maskz_cvtps_epi32(0xffff, zero));
      if ((_mm512_cmp_ps_mask(zero, whole, _CMP_EQ_OQ) &
           _mm512_cmp_ps_mask(zero, low, _CMP_GE_OQ) &
           _mm512_cmp_ps_mask(zero, high, _CMP_LE_OQ)) != 0xffff)
        return false;
    }
  return true;
}

/// Where a block of a tile is.
struct TileBlock {
  const int8_t *a;
  int64_t rowBytes;
  const uint32_t *lines;
  int64_t rows, step; ///< of B; those that a tile has
};

/// C 0 or 1 = the dots of a block. Twice the same: the numbers of tiles are
/// letters of the instruction, which the intrinsics are macros for.
template <int Number, bool Centred>
[[gnu::always_inline]] inline void multiplyBlock(const TileBlock &block) {
  if constexpr (Number == 0)
    _tile_zero(0);
  else
    _tile_zero(1);
  for (int64_t k = 0; k < block.rows; k += block.step) {
    const uint32_t *lines = block.lines + k / 4 * kColumns;
    if constexpr (Number == 0) {
      _tile_loadd(4, lines, 64);
      _tile_loadd(2, block.a + k, block.rowBytes);
      if constexpr (Centred)
        _tile_dpbssd(0, 2, 4);
      else
        _tile_dpbsud(0, 2, 4);
    } else {
      _tile_loadd(5, lines, 64);
      _tile_loadd(3, block.a + k, block.rowBytes);
      if constexpr (Centred)
        _tile_dpbssd(1, 3, 5);
      else
        _tile_dpbsud(1, 3, 5);
    }
  }
}

/// Of 16 rows of A: scales and sums of a block lie side by side.
struct RowsOfTile {
  const int8_t *bytes;
  alignas(64) float scales[kMostBlocks * kTileRows];
  alignas(64) float sums[kMostBlocks * kTileRows];

  void read(const ByteProduct &product, int64_t row, int64_t rows,
            bool areCentred) {
    bytes = product.a.bytes + row * product.a.rowBytes;
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t at = (row + r) * product.a.rowBlocks;
      for (int64_t b = 0; b < product.blocks; ++b)
        scales[b * kTileRows + r] = product.a.scales[at + b];
      for (int64_t b = 0; b < product.blocks && !areCentred; ++b)
        sums[b * kTileRows + r] = product.a.sums[at + b];
    }
  }
};

/// Adds the dots of a block to sums, as addBlock of ByteLoops.inc does.
template <bool Centred>
[[gnu::always_inline]] inline void
addBlock(const RowsOfTile &a, const int32_t *dots, int64_t rows, int64_t block,
         __m512 scale, __m512 zero, __m512 *sums) {
  const float *scalesA = a.scales + block * kTileRows;
  const float *sumsA = a.sums + block * kTileRows;
#pragma GCC unroll 16
  for (int64_t r = 0; r < rows; ++r) {
    __m512 dot = _mm512_maskz_cvtepi32_ps(
        0xffff, _mm512_load_si512(dots + r * kColumns));
    if constexpr (!Centred)
      dot = _mm512_fnmadd_ps(zero, _mm512_set1_ps(sumsA[r]), dot);
    const __m512 factor = _mm512_mul_ps(scale, _mm512_set1_ps(scalesA[r]));
    sums[r] = _mm512_fmadd_ps(factor, dot, sums[r]);
  }
}

/// Words of a panel that are multiplied next, of which memory is asked for some
/// at each block.
struct NextWords {
  const uint32_t *words;
  int64_t ofBlock; ///< rows of words

  /// Part `part` of `parts` of those of a panel.
  NextWords(const ByteProduct &product, int64_t panel, int64_t part,
            int64_t parts) {
    const int64_t each = product.blocks * product.blockWords;
    const int64_t first = each * part / parts;
    const int64_t count = each * (part + 1) / parts - first;
    words = product.next + panel * product.panelStep + first * kColumns;
    ofBlock = product.next ? (count + product.blocks - 1) / product.blocks : 0;
  }
  [[gnu::always_inline]] void ask() {
    for (int64_t i = 0; i < ofBlock; ++i, words += kColumns)
      _mm_prefetch(words, _MM_HINT_T1);
  }
};

/// Up to 16 rows, whose shapes are set, and one panel. While the dots of a
/// block are scaled, those of the next one are stored, and of the one behind it
/// made; of `rows` that the compiler knows sums stay in registers.
template <bool Centred>
[[gnu::always_inline]] inline void
multiplyRows(const ByteProduct &product, const RowsOfTile &a,
             const uint32_t *lines, int64_t row, int64_t rows, int64_t panel,
             NextWords next) {
  const int64_t columns = std::min(kColumns, product.n - panel * kColumns);
  const auto mask = static_cast<__mmask16>((1u << columns) - 1);
  const int64_t rowsB = rowsOfBlock(product),
                step = std::min(rowsB, kMostDepth);
  const float *scales = product.scales + panel * product.scaleStep;
  const float *zeros = product.zeros + panel * product.scaleStep;
  float *c = product.c + row * product.leadingC + panel * kColumns;
  __m512 sums[kTileRows] = {};
#pragma GCC unroll 16
  for (int64_t r = 0; r < rows; ++r)
    sums[r] = _mm512_maskz_loadu_ps(product.adds ? mask : 0,
                                    c + r * product.leadingC);
  alignas(64) int32_t dots[2][kTileRows * kColumns];
  const auto at = [&](int64_t b) {
    return TileBlock{a.bytes + b * rowsB, product.a.rowBytes,
                     lines + b * rowsB / 4 * kColumns, rowsB, step};
  };
  const auto add = [&](const int32_t *of,
                       int64_t b) __attribute__((always_inline)) {
    next.ask();
    addBlock<Centred>(a, of, rows, b, _mm512_loadu_ps(scales + b * kColumns),
                      _mm512_loadu_ps(zeros + b * kColumns), sums);
  };
  const int64_t last = product.blocks - 1;
  multiplyBlock<0, Centred>(at(0));
  if (last > 0)
    multiplyBlock<1, Centred>(at(1));
  _tile_stored(0, dots[0], 64);
  for (int64_t b = 0; b <= last; b += 2) {
    if (b + 2 <= last)
      multiplyBlock<0, Centred>(at(b + 2));
    if (b + 1 <= last)
      _tile_stored(1, dots[1], 64);
    add(dots[0], b);
    if (b == last)
      break;
    if (b + 3 <= last)
      multiplyBlock<1, Centred>(at(b + 3));
    if (b + 2 <= last)
      _tile_stored(0, dots[0], 64);
    add(dots[1], b + 1);
  }
#pragma GCC unroll 16
  for (int64_t r = 0; r < rows; ++r)
    _mm512_mask_storeu_ps(c + r * product.leadingC, mask, sums[r]);
}

template <bool Centred>
void multiplyWhole(const ByteProduct &product, const RowsOfTile &a,
                   const uint32_t *lines, int64_t row, int64_t panel,
                   const NextWords &next) {
  multiplyRows<Centred>(product, a, lines, row, kTileRows, panel, next);
}
template <bool Centred>
void multiplyRest(const ByteProduct &product, const RowsOfTile &a,
                  const uint32_t *lines, int64_t row, int64_t panel,
                  const NextWords &next) {
  multiplyRows<Centred>(product, a, lines, row, product.m - row, panel, next);
}

template <bool Centred>
void multiplyLines(const ByteProduct &product, const uint32_t *const *lines) {
  const int64_t panels = (product.n + kColumns - 1) / kColumns;
  const int64_t depth = std::min(rowsOfBlock(product), kMostDepth);
  const int64_t tiles = (product.m + kTileRows - 1) / kTileRows;
  RowsOfTile a;
  for (int64_t tile = 0; tile < tiles; ++tile) {
    const int64_t row = tile * kTileRows;
    const int64_t rows = std::min(kTileRows, product.m - row);
    a.read(product, row, rows, Centred);
    if (row == 0 || rows < kTileRows)
      setShapes(rows, depth);
    const auto multiply =
        rows == kTileRows ? multiplyWhole<Centred> : multiplyRest<Centred>;
    for (int64_t p = 0; p < panels; ++p)
      multiply(product, a, lines[p], row, p,
               NextWords(product, p, tile, tiles));
  }
  _tile_release();
}

void multiplyAll(const ByteProduct &product) {
  alignas(64) uint32_t room[kMostPanels * kMostRows / 4 * kColumns];
  const int64_t panels = (product.n + kColumns - 1) / kColumns;
  const int64_t words = product.blocks * product.blockWords;
  const int64_t step = words * product.parts * kColumns;
  const bool isInRoom = step <= kMostRows / 4 * kColumns;
  const bool centred = isInRoom && isCentred(product);
  const uint32_t *lines[kMostPanels];
  for (int64_t p = 0; p < panels; ++p) {
    const uint32_t *from = product.words + p * product.panelStep;
    const float *zeros = product.zeros + p * product.scaleStep;
    lines[p] = room + p * step;
    if (centred)
      (product.parts == 1   ? centre<1>
       : product.parts == 2 ? centre<2>
                            : centre<4>)(from, product, zeros, room + p * step);
    else if (product.parts > 1)
      (product.parts == 2 ? widen<2> : widen<4>)(from, words, room + p * step);
    else
      lines[p] = from;
  }
  asm volatile("" ::: "memory"); // loads of tiles do not say what they read
  (centred ? multiplyLines<true> : multiplyLines<false>)(product, lines);
}

#pragma GCC pop_options

} // namespace

bool takesByteTiles(const ByteProduct &product) {
  const int64_t rows = rowsOfBlock(product);
  // Parts of bytes are widened into room for so many.
  if ((product.parts > 1 && product.blocks * rows > kMostRows) ||
      product.blocks > kMostBlocks)
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
