//===- PackedMatrix.cpp - Packing, and products on all threads ------------===//

#include "runtime/kernels/host/simd/PackedMatrix.h"

#include "runtime/kernels/StorageTypes.h"
#include "runtime/kernels/host/KernelThreads.h"
#include "runtime/kernels/host/simd/Loops.h"
#include "runtime/kernels/host/simd/PackedParts.h"
#include "runtime/kernels/host/simd/Pairs.h"

#include <algorithm>
#include <type_traits>

namespace shardc::runtime::host {
namespace {

/// What has more bits than `To` is rounded.
template <typename T, typename To>
void packPart(const TensorView &matrix, Span rows, int64_t panel, To *to) {
  const int64_t step = matrix.strides[1];
  const int64_t begin = panel * kPanelColumns;
  const int64_t count = std::min(kPanelColumns, matrix.dims[1] - begin);
  To *row = to + begin * matrix.dims[0] + rows.begin * kPanelColumns;
  for (int64_t k = rows.begin; k < rows.end; ++k, row += kPanelColumns) {
    const T *from = matrix.as<T>() + k * matrix.strides[0] + begin * step;
    for (int64_t j = 0; j < count; ++j)
      if constexpr (std::is_same_v<T, To>)
        row[j] = from[j * step];
      else
        row[j] = To(float(from[j * step]));
    for (int64_t j = count; j < kPanelColumns; ++j)
      row[j] = To();
  }
}

template <typename T, typename To = T>
void packPanels(const TensorView &matrix, To *to, SourcePages pages) {
  packInParts(matrix, pages, [&](Span rows, int64_t panel) {
    packPart<T>(matrix, rows, panel, to);
  });
}

void scaleRows(const PackedProduct &product) {
  for (int64_t i = 0; i < product.m; ++i)
    for (int64_t j = 0; j < product.n; ++j) {
      float &c = product.c[i * product.leadingC + j];
      c = product.beta == 0 ? 0 : product.beta * c;
    }
}

} // namespace

int64_t packedMatrixBytes(const TensorView &matrix) {
  switch (matrix.element) {
  case artifact::ElementType_Float32:
  case artifact::ElementType_Float16:
  case artifact::ElementType_BFloat16:
    return matrix.dims[0] * panelsOf(matrix.dims[1]) * kPanelColumns *
           artifact::elementBytes(matrix.element);
  default:
    return 0;
  }
}

void packMatrix(const TensorView &matrix, std::byte *to, SourcePages pages) {
  if (matrix.element == artifact::ElementType_Float32)
    packPanels<uint32_t>(matrix, reinterpret_cast<uint32_t *>(to), pages);
  else
    packPanels<uint16_t>(matrix, reinterpret_cast<uint16_t *>(to), pages);
}

void packMatrixRounded(const TensorView &matrix, std::byte *to,
                       SourcePages pages) {
  auto *rounded = reinterpret_cast<BFloat16 *>(to);
  if (matrix.element == artifact::ElementType_Float32)
    packPanels<float>(matrix, rounded, pages);
  else
    packPanels<Float16>(matrix, rounded, pages);
}

static bool isInTiles(const TensorView &matrix) {
  return matrix.element == artifact::ElementType_BFloat16 &&
         areBFloat16InTiles();
}

int64_t packedOperandBytes(const TensorView &matrix) {
  return isInTiles(matrix) ? tiledMatrixBytes(matrix)
                           : packedMatrixBytes(matrix);
}

void packOperand(const TensorView &matrix, std::byte *to, SourcePages pages) {
  (isInTiles(matrix) ? packTiles : packMatrix)(matrix, to, pages);
}

void multiplyPacked(const PackedProduct &product) {
  if (product.m == 0 || product.n == 0)
    return;
  if (product.k == 0)
    return scaleRows(product);
  const auto loop = loops().multiplyPanels.of(product.element);
  const int64_t panels = panelsOf(product.n);
  const int64_t threads =
      threadsForProduct(panels, product.m, product.n, product.k);
  shareRanges(panels, threads, panelsAtOnce(panels, threads),
              [&](int64_t begin, int64_t end) { loop(product, {begin, end}); });
}

} // namespace shardc::runtime::host
