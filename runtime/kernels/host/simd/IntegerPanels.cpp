//===- IntegerPanels.cpp - Packing, and products on all threads -----------===//

#include "runtime/kernels/host/simd/IntegerPanels.h"

#include "runtime/kernels/host/KernelThreads.h"
#include "runtime/kernels/host/simd/ByteLoops.h"
#include "runtime/kernels/host/simd/PackedParts.h"
#include "runtime/kernels/host/simd/Tiles.h"

#include <algorithm>
#include <cstring>

namespace shardc::runtime::host {
namespace {

/// These rows of the panel's columns, of which those before are there.
void packPanel(const TensorView &matrix, Span rows, int64_t panel, uint8_t flip,
               std::byte *to) {
  const int64_t k = matrix.dims[0], step = matrix.strides[1];
  const int64_t first = panel * kPanelColumns;
  const int64_t count = std::min(kPanelColumns, matrix.dims[1] - first);
  auto *bytes = reinterpret_cast<uint8_t *>(to);
  auto *sums =
      reinterpret_cast<uint32_t *>(bytes + integerDepth(k) * kPanelColumns);
  if (rows.begin == 0)
    std::memset(bytes, 0, size_t(integerPanelBytes(k)));
  for (int64_t l = rows.begin; l < rows.end; ++l) {
    const uint8_t *from =
        matrix.as<uint8_t>() + l * matrix.strides[0] + first * step;
    uint8_t *line = bytes + l / 4 * 4 * kPanelColumns + l % 4;
    for (int64_t j = 0; j < count; ++j) {
      const uint8_t byte = from[j * step] ^ flip;
      line[4 * j] = byte;
      sums[j] += byte;
    }
  }
}

} // namespace

int64_t integerMatrixBytes(const TensorView &matrix) {
  const bool isOfBytes = matrix.element == artifact::ElementType_Int8 ||
                         matrix.element == artifact::ElementType_UInt8;
  return isOfBytes
             ? panelsOf(matrix.dims[1]) * integerPanelBytes(matrix.dims[0])
             : 0;
}

void packIntegers(const TensorView &matrix, std::byte *to, SourcePages pages) {
  const uint8_t flip = matrix.element == artifact::ElementType_Int8 ? 128 : 0;
  const int64_t step = integerPanelBytes(matrix.dims[0]);
  if (matrix.dims[0] == 0)
    std::memset(to, 0, size_t(integerMatrixBytes(matrix)));
  packInParts(matrix, pages, [&](Span rows, int64_t panel) {
    packPanel(matrix, rows, panel, flip, to + panel * step);
  });
}

void multiplyIntegers(const IntegerProduct &product) {
  constexpr int64_t kRowsOfTiles = 4; // fewer read B faster than tiles do
  const bool inTiles = product.m >= kRowsOfTiles && hasIntegerTiles();
  const auto multiply =
      inTiles ? multiplyIntegerTiles : byteLoops().multiplyIntegers;
  const int64_t panels = panelsOf(product.n);
  const int64_t threads = threadsForProduct(
      panels, std::max<int64_t>(product.m / 4, 1), product.n, product.k / 4);
  shareRanges(
      panels, threads, panelsAtOnce(panels, threads),
      [&](int64_t begin, int64_t end) { multiply(product, {begin, end}); });
}

} // namespace shardc::runtime::host
