//===- FieldMatrix.cpp - Quantised weights as loops read them -------------===//

#include "runtime/kernels/host/quant/FieldMatrix.h"

#include "runtime/kernels/host/KernelThreads.h"
#include "runtime/kernels/host/quant/FieldElements.h"
#include "runtime/kernels/host/simd/PackedParts.h"
#include "runtime/kernels/product/IntegerReader.h"

#include <algorithm>
#include <cstring>

namespace shardc::runtime::host {
namespace {

using artifact::ElementType;

/// Of elements that are `bits` wide, where bytes hold one.
FieldKind kindOf(ElementType element, int bits) {
  switch (element) {
  case artifact::ElementType_Float8E4M3FN:
    return FieldKind::Float8E4M3;
  case artifact::ElementType_Float8E4M3FNUZ:
    return FieldKind::Float8E4M3FNUZ;
  case artifact::ElementType_Float8E5M2:
    return FieldKind::Float8E5M2;
  case artifact::ElementType_Float8E5M2FNUZ:
    return FieldKind::Float8E5M2FNUZ;
  default:
    return bits == 2   ? FieldKind::Integer2
           : bits == 4 ? FieldKind::Integer4
                       : FieldKind::Integer8;
  }
}

} // namespace

bool FieldMatrix::readFields(const TensorView &matrix) {
  data = matrix;
  elementBits = bitsOf(data.element);
  kind = kindOf(data.element, elementBits);
  if (elementBits == 0 || k == 0 || n == 0)
    return false;
  hasDenseColumns = rowStride == 1 || k == 1;
  // Where fields of parts of bytes begin, in a column or in a row.
  const int64_t step = hasDenseColumns ? columnStride : rowStride;
  const int64_t ofByte = 8 / elementBits;
  if (!hasDenseColumns && columnStride != 1 && n > 1)
    return false;
  areAligned = data.skipped % ofByte == 0 &&
               (step % ofByte == 0 || (hasDenseColumns && n == 1));
  if (!hasDenseColumns)
    kind = kindOf(data.element, 8);
  if (isSigned(data.element)) {
    const uint32_t sign = 1u << (elementBits - 1);
    flip = bits() == elementBits ? signsOf(elementBits) : sign * 0x01010101u;
  }
  return true;
}

bool FieldMatrix::read(const KernelCall &call,
                       const DequantizedOperands &operands) {
  const int row = operands.row(), column = operands.column();
  const QuantizedViews &b = operands.b;
  k = b.data.dims[row];
  n = b.data.dims[column];
  rowStride = b.data.strides[row];
  columnStride = b.data.strides[column];
  return readFields(b.data) && ofBlocks.read(call, operands, rowsOfWord());
}

bool FieldMatrix::readMatrix(const TensorView &matrix) {
  k = matrix.dims[0];
  n = matrix.dims[1];
  rowStride = matrix.strides[0];
  columnStride = matrix.strides[1];
  return readFields(matrix);
}

void FieldMatrix::pack(std::byte *to) const {
  TensorView matrix = data;
  matrix.rank = 2;
  const int64_t dims[] = {k, n}, strides[] = {rowStride, columnStride};
  std::copy(dims, dims + 2, matrix.dims);
  std::copy(strides, strides + 2, matrix.strides);
  packInParts(matrix, SourcePages::Leave, [&](Span rows, int64_t panel) {
    gather(panel, rows.begin, rows.end - rows.begin, 1,
           reinterpret_cast<uint32_t *>(to) + panel * packedStep() +
               rows.begin / rowsOfWord() * kPanelColumns);
  });
}

/// Fields of 2 or 4 bits that follow each other, up to a word of them, from the
/// lowest bits on; 0 where there are no more.
static uint32_t fieldsFrom(const std::byte *data, int64_t offset, int bits,
                           int64_t count) {
  uint64_t all = 0;
  const int64_t skipped = offset * bits % 8;
  std::memcpy(&all, data + offset * bits / 8,
              size_t(skipped + count * bits + 7) / 8);
  return uint32_t(all >> skipped & ((uint64_t(1) << count * bits) - 1));
}

/// The same words of fields that begin within a byte.
void FieldMatrix::gatherFields(int64_t panel, int64_t row, int64_t depth,
                               uint32_t *to) const {
  for (const int64_t end = row + depth; row < end; row += rowsOfWord())
    for (int64_t c = 0; c < kPanelColumns; ++c, ++to) {
      const int64_t column =
          panel * kPanelColumns + std::min(c, columnsOfPanel(panel, n) - 1);
      const int64_t first = data.skipped + column * columnStride;
      const int64_t count = std::min(rowsOfWord(), end - row);
      *to = flip;
      if (hasDenseColumns)
        *to ^= fieldsFrom(data.data, first + row, elementBits, count);
      else
        for (int64_t r = 0; r < count; ++r)
          *to ^=
              readField(data.data, first + (row + r) * rowStride, elementBits)
              << (r * bits());
    }
}

void FieldMatrix::gather(int64_t panel, int64_t row, int64_t depth,
                         int64_t ahead, uint32_t *to) const {
  if (!areAligned)
    return gatherFields(panel, row, depth, to);
  const int64_t first = panel * kPanelColumns * columnStride + row * rowStride;
  const std::byte *at = data.data + first * elementBits / 8;
  if (hasDenseColumns)
    loops().gatherWords({at, columnBytes(), columnsOfPanel(panel, n),
                         (depth * elementBits + 7) / 8, flip,
                         ahead * kPanelColumns * columnBytes()},
                        to);
  else // processors see by themselves how rows follow each other
    loops().gatherRows({at, rowStride * elementBits / 8,
                        columnsOfPanel(panel, n), depth, elementBits, flip},
                       to);
}

FieldPanels FieldMatrix::panelsAt(int64_t row, int64_t depth,
                                  const PanelScales &scales) const {
  const int64_t block = row / blockRows();
  FieldPanels fields;
  fields.kind = kind;
  fields.depth = depth;
  fields.scales = scales.scales() + block * kPanelColumns;
  fields.zeros = scales.zeros() + block * kPanelColumns;
  fields.scaleStep = scales.step();
  fields.hasOneZero = ofBlocks.hasOneZero();
  fields.firstRows = (block + 1) * blockRows() - row;
  fields.blockRows = blockRows();
  return fields;
}

} // namespace shardc::runtime::host
