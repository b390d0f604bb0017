//===- ByteProducts.cpp - Quantised weights times rounded activations -----===//

#include "runtime/kernels/host/quant/ByteProducts.h"

#include "runtime/base/AlignedBuffer.h"
#include "runtime/kernels/host/KernelThreads.h"
#include "runtime/kernels/host/simd/ByteTiles.h"

#include <algorithm>

namespace shardc::runtime::host {
namespace {

constexpr int64_t kGroupPanels = 8;
/// Rows of B that are multiplied before others come, or one block.
constexpr int64_t kGroupRows = 768;
/// Sums of 8 bits times 8 bits that 32 bits hold.
constexpr int64_t kMostBlockRows = 65528;

/// How scratch is laid out: A for all threads, then what each needs.
struct ByteScratch {
  int64_t rowBytes, rowBlocks, rowsOfGroup;
  int64_t sizeOfA, sizeOfRow; ///< as integers; a dense row of A
  int64_t wordStep;           ///< of a panel
  int64_t sizeOfWords;        ///< of a thread, as is
  int64_t sizeOfThread;

  ByteScratch(const FieldMatrix &matrix, int64_t m, int64_t k) {
    const int64_t block = matrix.blockRows();
    rowBytes = (k + 15) / 16 * 16; // whole words of 2 bits
    rowBlocks = matrix.blocks();
    rowsOfGroup = std::max<int64_t>(kGroupRows / block, 1) * block;
    sizeOfA = alignBuffer(m * (rowBytes + rowBlocks * 8));
    sizeOfRow = alignBuffer(k * 4);
    wordStep = matrix.isPacked()
                   ? 0
                   : rowsOfGroup / matrix.rowsOfWord() * kPanelColumns;
    sizeOfWords = alignBuffer(kGroupPanels * wordStep * 4);
    sizeOfThread = sizeOfWords +
                   PanelScales::bytes(matrix.scales(), kGroupPanels) +
                   sizeOfRow;
  }
  ByteRows rowsOn(std::byte *memory, int64_t m) const {
    ByteRows rows;
    rows.scales = reinterpret_cast<float *>(memory);
    rows.sums = rows.scales + m * rowBlocks;
    rows.bytes = reinterpret_cast<int8_t *>(rows.sums + m * rowBlocks);
    rows.rowBytes = rowBytes;
    rows.rowBlocks = rowBlocks;
    return rows;
  }
};

int64_t byteGroups(int64_t columns) {
  const int64_t each = kGroupPanels * kPanelColumns;
  return (columns + each - 1) / each;
}

/// Rows [rows.begin, rows.end) of A as integers; `dense` has room for one.
void quantizeRows(const FieldMatrix &matrix, const PackedProduct &product,
                  const ByteRows &to, Span rows, float *dense) {
  for (int64_t i = rows.begin; i < rows.end; ++i) {
    const float *row = product.a + i * product.rowStepA;
    if (product.depthStepA != 1) {
      for (int64_t l = 0; l < product.k; ++l)
        dense[l] = row[l * product.depthStepA];
      row = dense;
    }
    ByteRows own = to;
    own.bytes += i * to.rowBytes;
    own.scales += i * to.rowBlocks;
    own.sums += i * to.rowBlocks;
    byteLoops().quantize(row, product.k, matrix.blockRows(), matrix.bits(),
                         own);
  }
}

/// Groups of panels, one after the other.
class GroupOfBytes {
public:
  GroupOfBytes(const FieldMatrix &matrix, const PackedProduct &whole,
               const ByteScratch &sizes, const ByteRows &a, std::byte *scratch)
      : matrix(matrix), whole(whole), sizes(sizes), a(a),
        words(reinterpret_cast<uint32_t *>(scratch)),
        scales(matrix.scales(), kGroupPanels, scratch + sizes.sizeOfWords) {}

  void run(int64_t first, int64_t count) {
    scales.gather(first, count);
    for (int64_t row = 0; row < whole.k; row += sizes.rowsOfGroup)
      multiply(row, std::min(sizes.rowsOfGroup, whole.k - row), first, count);
  }

private:
  void multiply(int64_t row, int64_t depth, int64_t first, int64_t count) {
    const bool isPacked = matrix.isPacked();
    for (int64_t p = 0; p < count && !isPacked; ++p)
      matrix.gather(first + p, row, depth, kGroupPanels,
                    words + p * sizes.wordStep);
    const int64_t blockRows = matrix.blockRows(), block = row / blockRows;
    const int64_t ofWord = matrix.rowsOfWord();
    ByteProduct product;
    product.m = whole.m;
    product.n =
        std::min(count * kPanelColumns, whole.n - first * kPanelColumns);
    product.a = a;
    product.a.bytes += row;
    product.a.scales += block;
    product.a.sums += block;
    product.words = isPacked ? matrix.packedAt(first, row) : words;
    product.panelStep = isPacked ? matrix.packedStep() : sizes.wordStep;
    if (isPacked)
      product.next = row + depth < whole.k
                         ? matrix.packedAt(first, row + depth)
                         : matrix.packedAt(first + kGroupPanels, 0);
    product.parts = 8 / matrix.bits();
    product.blocks = (depth + blockRows - 1) / blockRows;
    product.blockWords = blockRows / ofWord;
    const int64_t last = depth - (product.blocks - 1) * blockRows;
    product.lastWords = (last + ofWord - 1) / ofWord;
    product.scales = scales.scales() + block * kPanelColumns;
    product.zeros = scales.zeros() + block * kPanelColumns;
    product.scaleStep = scales.step();
    product.c = whole.c + first * kPanelColumns;
    product.leadingC = whole.leadingC;
    product.adds = row > 0;
    if (takesByteTiles(product))
      multiplyByteTiles(product);
    else
      byteLoops().multiply(product);
  }

  const FieldMatrix &matrix;
  const PackedProduct &whole;
  const ByteScratch &sizes;
  const ByteRows &a;
  uint32_t *words;
  PanelScales scales;
};

} // namespace

bool takesBytes(const FieldMatrix &matrix) {
  return matrix.blockRows() <= kMostBlockRows;
}

int64_t byteScratchBytes(const FieldMatrix &matrix, int64_t m, int64_t k,
                         int64_t n) {
  const ByteScratch sizes(matrix, m, k);
  const int64_t threads = std::min(kernelThreads(), std::max(byteGroups(n), m));
  return sizes.sizeOfA + threads * sizes.sizeOfThread;
}

void multiplyBytes(const FieldMatrix &matrix, const PackedProduct &product,
                   std::byte *scratch) {
  const int64_t m = product.m, groups = byteGroups(product.n);
  const int64_t panels = (product.n + kPanelColumns - 1) / kPanelColumns;
  const ByteScratch sizes(matrix, m, product.k);
  const ByteRows a = sizes.rowsOn(scratch, m);
  const auto scratchOf = [&](int64_t thread) {
    return scratch + sizes.sizeOfA + thread * sizes.sizeOfThread;
  };
  shareRanges(
      m, threadsFor(m, m * product.k), /*least=*/1,
      [&](int64_t thread) {
        return reinterpret_cast<float *>(scratchOf(thread));
      },
      [&](float *dense, int64_t begin, int64_t end) {
        quantizeRows(matrix, product, a, {begin, end}, dense);
      });
  shareRanges(
      groups, threadsForProduct(groups, m, product.n, product.k), /*least=*/1,
      [&](int64_t thread) {
        return GroupOfBytes(matrix, product, sizes, a, scratchOf(thread));
      },
      [&](GroupOfBytes &own, int64_t g, int64_t end) {
        for (; g < end; ++g)
          own.run(g * kGroupPanels,
                  std::min(kGroupPanels, panels - g * kGroupPanels));
      });
}

} // namespace shardc::runtime::host
