//===- Pairs.cpp - Products of bfloat16 by pairs --------------------------===//

#include "runtime/kernels/host/simd/Pairs.h"

#include "runtime/base/ProcessorLevel.h"
#include "runtime/kernels/host/KernelThreads.h"
#include "runtime/kernels/host/simd/Loops.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#if defined(__x86_64__) && defined(__linux__) // as Tiles.cpp, which rounds
#include <immintrin.h>
#endif

namespace shardc::runtime::host {

#if defined(__x86_64__) && defined(__linux__) // as Tiles.cpp, which rounds

bool hasPairs() {
  static const bool has = hasLevel(ProcessorLevel::Avx512BFloat16);
  return has;
}

bool arePairsFast() { return hasPairs() && !__builtin_cpu_is("intel"); }

namespace {

#pragma GCC push_options
#pragma GCC target("avx512f,avx512vl,avx512bw,avx512bf16")

constexpr int kRows = 8, kPanels = 2;

[[gnu::always_inline]] inline __m512 scaled(const TileProduct &product,
                                            __m512 sum, __m512 before) {
  sum = _mm512_mul_ps(sum, _mm512_set1_ps(product.alpha));
  return product.beta == 0
             ? sum
             : _mm512_add_ps(
                   sum, _mm512_mul_ps(_mm512_set1_ps(product.beta), before));
}

/// As storeSums of Tiles.cpp does.
void store(const TileProduct &product, __m512 sum, int64_t row, int64_t panel) {
  const int64_t first = panel * kPanelColumns;
  const int64_t count = std::min(kPanelColumns, product.n - first);
  const auto mask = static_cast<__mmask16>((1u << count) - 1);
  const int64_t at = row * product.leadingC + first;
  __m512 before = {};
  if (product.sums) {
    float *c = product.sums + at;
    if (product.beta != 0)
      before = _mm512_maskz_loadu_ps(mask, c);
    _mm512_mask_storeu_ps(c, mask, scaled(product, sum, before));
    return;
  }
  BFloat16 *c = product.c + at;
  if (product.beta != 0) {
    const __m512i bits = _mm512_maskz_slli_epi32(
        0xffff,
        _mm512_maskz_cvtepu16_epi32(0xffff, _mm256_maskz_loadu_epi16(mask, c)),
        16);
    before = reinterpret_cast<const __m512 &>(bits);
  }
  const __m256bh rounded = _mm512_cvtneps_pbh(scaled(product, sum, before));
  _mm256_mask_storeu_epi16(c, mask, reinterpret_cast<const __m256i &>(rounded));
}

template <int Rows, int Panels>
void runTile(const TileProduct &product, int64_t row, int64_t panel) {
  const int64_t depth = tiledDepth(product.k);
  const BFloat16 *a = product.a + row * product.rowStepA;
  const int64_t panelStep =
      product.panelStepB ? product.panelStepB : depth * kPanelColumns;
  const auto *b =
      reinterpret_cast<const BFloat16 *>(product.b) + panel * panelStep;
  __m512 sums[Rows][Panels];
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 2
    for (int p = 0; p < Panels; ++p)
      sums[r][p] = _mm512_setzero_ps();
  for (int64_t k = 0; k < depth; k += 2, a += 2, b += 2 * kPanelColumns) {
    __m512bh columns[Panels];
#pragma GCC unroll 2
    for (int p = 0; p < Panels; ++p) {
      const __m512i words = _mm512_loadu_si512(b + p * panelStep);
      columns[p] = reinterpret_cast<const __m512bh &>(words);
    }
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
      int32_t pair;
      std::memcpy(&pair, a + r * product.rowStepA, 4);
      const __m512i pairs = _mm512_set1_epi32(pair);
#pragma GCC unroll 2
      for (int p = 0; p < Panels; ++p)
        sums[r][p] = _mm512_dpbf16_ps(
            sums[r][p], reinterpret_cast<const __m512bh &>(pairs), columns[p]);
    }
  }
  const bool isPlain = product.sums && product.beta == 0 &&
                       (panel + Panels) * kPanelColumns <= product.n;
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 2
    for (int p = 0; p < Panels; ++p)
      if (isPlain)
        _mm512_storeu_ps(
            product.sums + (row + r) * product.leadingC +
                (panel + p) * kPanelColumns,
            _mm512_mul_ps(sums[r][p], _mm512_set1_ps(product.alpha)));
      else
        store(product, sums[r][p], row + r, panel + p);
}

#pragma GCC pop_options

using RunTile = void (*)(const TileProduct &, int64_t row, int64_t panel);

template <size_t... R>
constexpr std::array<std::array<RunTile, 2>, kRows>
makeTiles(std::index_sequence<R...>) {
  return {{{runTile<R + 1, 1>, runTile<R + 1, kPanels>}...}};
}

} // namespace

void multiplyPairsOf(const TileProduct &product, Span panels) {
  static constexpr auto tiles = makeTiles(std::make_index_sequence<kRows>());
  for (int64_t p = panels.begin; p < panels.end; p += kPanels)
    for (int64_t row = 0; row < product.m; row += kRows) {
      const int64_t rows = std::min<int64_t>(kRows, product.m - row);
      const bool isTwo = p + 1 < panels.end;
      tiles[size_t(rows - 1)][isTwo](product, row, p);
    }
}

void multiplyPairs(const TileProduct &product) {
  const int64_t panels = panelsOf(product.n);
  if (product.m == 0 || panels == 0)
    return;
  const int64_t threads = threadsForProduct(
      panels, std::max<int64_t>(product.m / 2, 1), product.n, product.k);
  shareRanges(panels, threads, panelsAtOnce(panels, threads),
              [&](int64_t begin, int64_t end) {
                multiplyPairsOf(product, {begin, end});
              });
}

#else

bool hasPairs() { return false; }
bool arePairsFast() { return false; }
void multiplyPairs(const TileProduct &) {}
void multiplyPairsOf(const TileProduct &, Span) {}

#endif

bool areBFloat16InTiles() { return hasTiles() || arePairsFast(); }

void multiplyBFloat16(const TileProduct &product) {
  (hasTiles() ? multiplyTiles : multiplyPairs)(product);
}

} // namespace shardc::runtime::host
