//===- RoundedFields.cpp - Quantised weights times bfloat16 ---------------===//

#include "runtime/kernels/host/quant/RoundedFields.h"

#include "runtime/base/AlignedBuffer.h"
#include "runtime/kernels/host/KernelThreads.h"
#include "runtime/kernels/host/simd/FieldPairs.h"
#include "runtime/kernels/host/simd/Pairs.h"
#include "runtime/kernels/host/simd/RoundedProduct.h"

#include <algorithm>

namespace shardc::runtime::host {
namespace {

/// Numbers of so many panels and rows stay in the second cache.
constexpr int64_t kPanels = 8, kDepth = 1024;

/// How scratch is laid out: A for all threads, then what each needs.
struct RoundedScratch {
  int64_t sizeOfA;
  int64_t wordStep, numberStep;       ///< of a panel
  int64_t sizeOfNumbers, sizeOfWords; ///< of a thread
  int64_t sizeOfThread;

  RoundedScratch(const FieldMatrix &matrix, int64_t m, int64_t k) {
    const int64_t depth = std::min(k, kDepth);
    sizeOfA = roundedRowsBytes(m, k);
    wordStep = matrix.isPacked() ? 0
                                 : (depth + matrix.rowsOfWord() - 1) /
                                       matrix.rowsOfWord() * kPanelColumns;
    numberStep = tiledDepth(depth) * kPanelColumns;
    sizeOfNumbers = alignBuffer(kPanels * numberStep * 2);
    sizeOfWords = alignBuffer(kPanels * wordStep * 4);
    sizeOfThread = sizeOfNumbers + sizeOfWords +
                   PanelScales::bytes(matrix.scales(), kPanels);
  }
};

int64_t groupsOf(int64_t columns) {
  const int64_t each = kPanels * kPanelColumns;
  return (columns + each - 1) / each;
}

class RoundedGroup {
public:
  RoundedGroup(const FieldMatrix &matrix, const PackedProduct &whole,
               const RoundedScratch &sizes, const BFloat16 *a, bool inTiles,
               std::byte *scratch)
      : matrix(matrix), whole(whole), sizes(sizes), a(a), inTiles(inTiles),
        numbers(reinterpret_cast<BFloat16 *>(scratch)),
        words(reinterpret_cast<uint32_t *>(scratch + sizes.sizeOfNumbers)),
        scales(matrix.scales(), kPanels,
               scratch + sizes.sizeOfNumbers + sizes.sizeOfWords) {}

  void run(int64_t first, int64_t count) {
    scales.gather(first, count);
    for (int64_t row = 0; row < whole.k; row += kDepth)
      multiply(row, std::min(kDepth, whole.k - row), first, count);
  }

private:
  void multiply(int64_t row, int64_t depth, int64_t first, int64_t count) {
    FieldPanels fields = matrix.panelsAt(row, depth, scales);
    if (matrix.isPacked()) {
      fields.words = matrix.packedAt(first, row);
      fields.panelStep = matrix.packedStep();
    } else {
      fields.words = words;
      fields.panelStep = sizes.wordStep;
      for (int64_t p = 0; p < count; ++p)
        matrix.gather(first + p, row, depth, kPanels,
                      words + p * sizes.wordStep);
    }
    for (int64_t p = 0; p < count; ++p)
      decodePairs(fields, p, numbers + p * tiledDepth(depth) * kPanelColumns);
    TileProduct product;
    product.m = whole.m;
    product.n =
        std::min(count * kPanelColumns, whole.n - first * kPanelColumns);
    product.k = depth;
    product.a = a + row;
    product.rowStepA = tiledDepth(whole.k);
    product.b = reinterpret_cast<const std::byte *>(numbers);
    product.isCached = true;
    product.sums = whole.c + first * kPanelColumns;
    product.leadingC = whole.leadingC;
    product.beta = row > 0 ? 1 : 0;
    (inTiles ? multiplyTilesOf : multiplyPairsOf)(product, {0, count});
  }

  const FieldMatrix &matrix;
  const PackedProduct &whole;
  const RoundedScratch &sizes;
  const BFloat16 *a;
  const bool inTiles;
  BFloat16 *numbers;
  uint32_t *words;
  PanelScales scales;
};

} // namespace

bool roundsFields() { return areBFloat16InTiles(); }

int64_t roundedScratchBytes(const FieldMatrix &matrix, int64_t m, int64_t k,
                            int64_t n) {
  const RoundedScratch sizes(matrix, m, k);
  return sizes.sizeOfA +
         std::min(kernelThreads(), groupsOf(n)) * sizes.sizeOfThread;
}

void multiplyRoundedFields(const FieldMatrix &matrix,
                           const PackedProduct &product, std::byte *scratch,
                           bool inTiles) {
  const RoundedScratch sizes(matrix, product.m, product.k);
  auto *a = reinterpret_cast<BFloat16 *>(scratch);
  roundRows(product, a);
  const int64_t groups = groupsOf(product.n);
  const int64_t panels = (product.n + kPanelColumns - 1) / kPanelColumns;
  const int64_t threads =
      threadsForProduct(groups, product.m, product.n, product.k);
  shareRanges(
      groups, threads, /*least=*/1,
      [&](int64_t thread) {
        return RoundedGroup(matrix, product, sizes, a, inTiles,
                            scratch + sizes.sizeOfA +
                                thread * sizes.sizeOfThread);
      },
      [&](RoundedGroup &own, int64_t g, int64_t end) {
        for (; g < end; ++g)
          own.run(g * kPanels, std::min(kPanels, panels - g * kPanels));
      });
}

} // namespace shardc::runtime::host
