//===- PackedParts.cpp - Packing a matrix part by part --------------------===//

#include "runtime/kernels/host/simd/PackedParts.h"

#include "runtime/artifact/ElementNames.h"
#include "runtime/base/MappedFile.h"
#include "runtime/tensor/CopyView.h"

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

/// Takes the pages between the first element and the last one out of the
/// process.
void release(const TensorView &part) {
  const int64_t bits = artifact::elementBits(part.element);
  int64_t first = part.skipped, last = part.skipped;
  for (int d = 0; d < part.rank; ++d) {
    const int64_t reach = (part.dims[d] - 1) * part.strides[d];
    (reach < 0 ? first : last) += reach;
  }
  const int64_t begin = first * bits >> 3, end = ((last + 1) * bits + 7) / 8;
  releaseMapped(part.data + begin, static_cast<size_t>(end - begin));
}

} // namespace

bool nextPart(const TensorView &matrix, MatrixPart &part) {
  const int64_t rows = matrix.dims[0], columns = matrix.dims[1];
  const int64_t panels = (columns + kPanelColumns - 1) / kPanelColumns;
  const bool ofRows =
      std::abs(matrix.strides[0]) >= std::abs(matrix.strides[1]);
  const bool isFirst = part.rows.end == 0 && part.panels.end == 0;
  if (!isFirst) {
    TensorView done =
        narrowed(matrix, 0, part.rows.begin, part.rows.end - part.rows.begin);
    const int64_t begin = part.panels.begin * kPanelColumns;
    release(
        narrowed(done, 1, begin,
                 std::min(part.panels.end * kPanelColumns, columns) - begin));
  }
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

} // namespace shardc::runtime::host
