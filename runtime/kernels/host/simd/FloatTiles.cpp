//===- FloatTiles.cpp - Products of float with bfloat16 in tiles ----------===//

#include "runtime/kernels/host/simd/FloatTiles.h"

#include "runtime/kernels/host/KernelThreads.h"
#include "runtime/kernels/host/simd/Loops.h"
#include "runtime/kernels/host/simd/Tiles.h"

#include <algorithm>
#include <array>
#include <utility>

#if defined(__x86_64__) && defined(__linux__) // as Tiles.cpp, which packs
#include <immintrin.h>
#endif

namespace shardc::runtime::host {

#if defined(__x86_64__) && defined(__linux__) // as Tiles.cpp, which packs

namespace {

#pragma GCC push_options
#pragma GCC target("avx512f")

constexpr int kRows = 8;
/// Of a tile of so many rows: as many sums as hide what one takes.
constexpr int64_t tilePanels(int64_t rows) { return rows <= kRows / 2 ? 4 : 2; }
static_assert(kDepthBlock % 2 == 0, "a pair is of one block");

/// Rows of C by panels of it, and rows of B that are added to them.
struct Part {
  int64_t row, panel;
  Span depth;
};

/// As storeVector of PanelLoops.inc does, for the first `count` columns.
[[gnu::always_inline]] inline void store(float *c, __m512 sum, int64_t count,
                                         float alpha, float beta) {
  const auto mask =
      static_cast<__mmask16>(count < kPanelColumns ? (1u << count) - 1 : ~0u);
  __m512 result = _mm512_mul_ps(_mm512_set1_ps(alpha), sum);
  asm("" : "+v"(result)); // rounded before it is added
  if (beta != 0)
    result = _mm512_fmadd_ps(_mm512_set1_ps(beta),
                             _mm512_maskz_loadu_ps(mask, c), result);
  _mm512_mask_storeu_ps(c, mask, result);
}

template <int Rows, int Panels>
void runTile(const PackedProduct &product, const Part &part) {
  const int64_t panelStep = tiledDepth(product.k) * kPanelColumns;
  const float *a = product.a + part.row * product.rowStepA;
  const auto *b =
      reinterpret_cast<const uint16_t *>(product.b) + part.panel * panelStep;
  const __m512i upper = _mm512_set1_epi32(int(0xffff0000u));
  __m512 sums[Rows][Panels] = {};
  for (int64_t k = part.depth.begin; k < part.depth.end; k += 2) {
    // Of a last row alone the other one is zeros; A has none for it.
    const bool isPair = k + 1 < part.depth.end;
    const float *x = a + k * product.depthStepA;
    __m512 even[Panels], odd[Panels];
#pragma GCC unroll 4
    for (int p = 0; p < Panels; ++p) {
      const __m512i pairs =
          _mm512_loadu_si512(b + p * panelStep + k * kPanelColumns);
      even[p] = _mm512_castsi512_ps(
          _mm512_maskz_slli_epi32(static_cast<__mmask16>(~0), pairs, 16));
      odd[p] = _mm512_castsi512_ps(_mm512_and_si512(pairs, upper));
    }
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r, x += product.rowStepA) {
      const __m512 first = _mm512_set1_ps(x[0]);
#pragma GCC unroll 4
      for (int p = 0; p < Panels; ++p)
        sums[r][p] = _mm512_fmadd_ps(first, even[p], sums[r][p]);
      if (!isPair)
        continue;
      const __m512 second = _mm512_set1_ps(x[product.depthStepA]);
#pragma GCC unroll 4
      for (int p = 0; p < Panels; ++p)
        sums[r][p] = _mm512_fmadd_ps(second, odd[p], sums[r][p]);
    }
  }
  const float beta = part.depth.begin == 0 ? product.beta : 1;
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 4
    for (int p = 0; p < Panels; ++p) {
      const int64_t column = (part.panel + p) * kPanelColumns;
      store(product.c + (part.row + r) * product.leadingC + column, sums[r][p],
            product.n - column, product.alpha, beta);
    }
}

#pragma GCC pop_options

using RunTile = void (*)(const PackedProduct &, const Part &);

template <size_t... R>
constexpr std::array<std::array<RunTile, 2>, kRows>
makeTiles(std::index_sequence<R...>) {
  return {{{runTile<R + 1, 1>, runTile<R + 1, tilePanels(R + 1)>}...}};
}

/// Of all rows: B of a block of these panels stays in a cache.
void multiplyBlock(const PackedProduct &product, Span panels, Span depth) {
  static constexpr auto tiles = makeTiles(std::make_index_sequence<kRows>());
  for (int64_t row = 0; row < product.m; row += kRows) {
    const int64_t rows = std::min<int64_t>(kRows, product.m - row);
    const auto &[one, several] = tiles[size_t(rows - 1)];
    int64_t panel = panels.begin;
    for (; panel + tilePanels(rows) <= panels.end; panel += tilePanels(rows))
      several(product, {row, panel, depth});
    for (; panel < panels.end; ++panel)
      one(product, {row, panel, depth});
  }
}

void multiplyPanels(const PackedProduct &product, Span panels) {
  constexpr int64_t most = tilePanels(1);
  for (int64_t panel = panels.begin; panel < panels.end; panel += most)
    for (int64_t k = 0; k < product.k; k += kDepthBlock)
      multiplyBlock(product, {panel, std::min(panel + most, panels.end)},
                    {k, std::min(product.k, k + kDepthBlock)});
}

} // namespace

void multiplyFloatTiles(const PackedProduct &product) {
  const int64_t panels = panelsOf(product.n);
  if (product.m == 0 || panels == 0)
    return;
  if (product.k == 0)
    return multiplyPacked(product); // of no rows of B, however they lie
  const int64_t threads =
      threadsForProduct(panels, product.m, product.n, product.k);
  shareRanges(panels, threads, panelsAtOnce(panels, threads),
              [&](int64_t begin, int64_t end) {
                multiplyPanels(product, {begin, end});
              });
}

#else

void multiplyFloatTiles(const PackedProduct &) {}

#endif

} // namespace shardc::runtime::host
