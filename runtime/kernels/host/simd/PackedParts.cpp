//===- PackedParts.cpp - Packing a matrix part by part --------------------===//

#include "runtime/kernels/host/simd/PackedParts.h"

#include "runtime/base/MappedFile.h"
#include "runtime/tensor/CopyView.h"
#include "runtime/tensor/ViewExtent.h"

#include <algorithm>
#include <cstdlib>

namespace shardc::runtime::host {
namespace {

constexpr int64_t kPartBytes = 4 << 20;
constexpr int64_t kRowsAtOnce = 64;

/// How many of what is `stride` elements apart make a part.
int64_t countOfPart(const TensorView &matrix, int64_t stride,
                    int64_t multiple) {
  const int64_t bits = std::max<int64_t>(std::abs(stride), 1) *
                       artifact::elementBits(matrix.element);
  const int64_t count = kPartBytes * 8 / bits;
  return std::max(count / multiple * multiple, multiple);
}

} // namespace

bool nextPart(const TensorView &matrix, MatrixPart &part) {
  const int64_t rows = matrix.dims[0], columns = matrix.dims[1];
  const int64_t panels = panelsOf(columns);
  const bool ofRows =
      std::abs(matrix.strides[0]) >= std::abs(matrix.strides[1]);
  if (rows == 0 || panels == 0)
    return false;
  Span &moving = ofRows ? part.rows : part.panels;
  const int64_t all = ofRows ? rows : panels;
  if (moving.end >= all)
    return false;
  const int64_t each =
      ofRows ? countOfPart(matrix, matrix.strides[0], kRowsAtOnce)
             : countOfPart(matrix, matrix.strides[1] * kPanelColumns, 1);
  (ofRows ? part.panels : part.rows) = {0, ofRows ? panels : rows};
  moving = {moving.end, std::min(all, moving.end + each)};
  return true;
}

void releasePart(const TensorView &matrix, const MatrixPart &part) {
  const int64_t begin = part.panels.begin * kPanelColumns;
  const int64_t end = std::min(part.panels.end * kPanelColumns, matrix.dims[1]);
  const std::span<const std::byte> bytes = extentOf(narrowed(
      narrowed(matrix, 0, part.rows.begin, part.rows.end - part.rows.begin), 1,
      begin, end - begin));
  releaseMapped(bytes.data(), bytes.size());
}

} // namespace shardc::runtime::host
