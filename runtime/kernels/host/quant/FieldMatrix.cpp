//===- FieldMatrix.cpp - Quantised weights as loops read them -------------===//

#include "runtime/kernels/host/quant/FieldMatrix.h"

#include "runtime/kernels/elementwise/CastFloat8.h"
#include "runtime/kernels/host/KernelThreads.h"
#include "runtime/kernels/host/simd/PackedParts.h"
#include "runtime/kernels/product/IntegerReader.h"

#include <algorithm>
#include <cstring>

namespace shardc::runtime::host {
namespace {

using artifact::ElementType;

bool isSigned(ElementType element) {
  return element == artifact::ElementType_Int2 ||
         element == artifact::ElementType_Int4 ||
         element == artifact::ElementType_Int8;
}

/// 0 for elements that are no fields.
int bitsOf(ElementType element) {
  switch (element) {
  case artifact::ElementType_Int2:
  case artifact::ElementType_UInt2:
    return 2;
  case artifact::ElementType_Int4:
  case artifact::ElementType_UInt4:
    return 4;
  case artifact::ElementType_Int8:
  case artifact::ElementType_UInt8:
  case artifact::ElementType_Float8E4M3FN:
  case artifact::ElementType_Float8E5M2:
    return 8;
  default:
    return 0;
  }
}

/// Of elements that are `bits` wide, where bytes hold one.
FieldKind kindOf(ElementType element, int bits) {
  return element == artifact::ElementType_Float8E4M3FN ? FieldKind::Float8E4M3
         : element == artifact::ElementType_Float8E5M2 ? FieldKind::Float8E5M2
         : bits == 2                                   ? FieldKind::Integer2
         : bits == 4                                   ? FieldKind::Integer4
                                                       : FieldKind::Integer8;
}

/// The first bit of each field of a word.
uint32_t signsOf(int bits) {
  return bits == 2 ? 0xaaaaaaaau : bits == 4 ? 0x88888888u : 0x80808080u;
}

float numberAt(const TensorView &view, int64_t offset) {
  switch (view.element) {
  case artifact::ElementType_Float16:
    return view.as<Float16>()[offset];
  case artifact::ElementType_BFloat16:
    return view.as<BFloat16>()[offset];
  default:
    return view.as<float>()[offset];
  }
}

/// As unsigned integers, or as the numbers that they are.
float fieldAt(const TensorView &view, int64_t offset) {
  Float8Codec codec;
  if (findFloat8(view.element, codec))
    return float(codec.decode(view.as<uint8_t>()[offset]));
  const int bits = bitsOf(view.element);
  const unsigned sign = isSigned(view.element) ? 1u << (bits - 1) : 0;
  return float(readField(view.data, view.skipped + offset, bits) ^ sign);
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
    zeroOfAll = float(sign);
  }
  return true;
}

bool FieldMatrix::readBlocks(const KernelCall &call,
                             const QuantizedViews &views, int axis) {
  hasBlocks = views.hasBlocks;
  const bool variesAlongK =
      scale.blockStride != 0 || (hasZeros && zero.blockStride != 0);
  if (!hasBlocks) {
    rowsOfBlock = (k + rowsOfWord() - 1) / rowsOfWord() * rowsOfWord();
    return !variesAlongK || k == 1;
  }
  rowsOfBlock = views.blockSize;
  if (rowsOfBlock <= 0 || rowsOfBlock % rowsOfWord() != 0 ||
      !global.read(call, "", k).isOk() || !global.keepsRuns(rowsOfBlock))
    return false;
  for (int64_t block = 0; block < blocks(); ++block) {
    areBlocksInOrder &= blockAt(block) == blockAt(0) + block;
    if (blockAt(block) < 0 || blockAt(block) >= views.scale.dims[axis])
      return false;
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
  const auto parameterOf = [&](const TensorView &view) {
    return Parameter{view, view.strides[row], view.strides[column]};
  };
  scale = parameterOf(b.scale);
  zero = parameterOf(b.zeroPoint);
  hasZeros = b.hasZeroPoint;
  areNumbers = hasZeros && zero.view.element == scale.view.element;
  if (!readFields(b.data) || (areNumbers && isSigned(data.element)) ||
      (hasZeros && !areNumbers && zero.view.element != data.element))
    return false;
  return readBlocks(call, b, row);
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
          panel * kPanelColumns + std::min(c, columnsOf(panel) - 1);
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
    loops().gatherWords({at, columnBytes(), columnsOf(panel),
                         (depth * elementBits + 7) / 8, flip,
                         ahead * kPanelColumns * columnBytes()},
                        to);
  else // processors see by themselves how rows follow each other
    loops().gatherRows({at, rowStride * elementBits / 8, columnsOf(panel),
                        depth, elementBits, flip},
                       to);
}

FieldPanels FieldMatrix::panelsAt(int64_t row, int64_t depth,
                                  const float *scales,
                                  const float *zeros) const {
  const int64_t block = row / rowsOfBlock;
  FieldPanels fields;
  fields.kind = kind;
  fields.depth = depth;
  fields.scales = scales + block * kPanelColumns;
  fields.zeros = zeros + block * kPanelColumns;
  fields.scaleStep = scaleStep();
  fields.firstRows = (block + 1) * rowsOfBlock - row;
  fields.blockRows = rowsOfBlock;
  return fields;
}

template <typename Read>
void FieldMatrix::gatherEach(const Parameter &from, int64_t panel, Read &&read,
                             float *to) const {
  for (int64_t block = 0; block < blocks(); ++block) {
    const int64_t first = blockAt(block) * from.blockStride +
                          panel * kPanelColumns * from.columnStride;
    for (int64_t c = 0; c < kPanelColumns; ++c, ++to)
      *to = read(from.view,
                 first + std::min(c, columnsOf(panel) - 1) * from.columnStride);
  }
}

/// Fields that follow each other from block to block.
bool FieldMatrix::gatherPackedZeros(int64_t panel, float *zeros) const {
  const int64_t first = blockAt(0) * zero.blockStride +
                        panel * kPanelColumns * zero.columnStride +
                        zero.view.skipped;
  if (hasFloats() || !hasBlocks || zero.blockStride != 1 || !areBlocksInOrder ||
      first * elementBits % 8 != 0 || zero.columnStride * elementBits % 8 != 0)
    return false;
  // One block has 16 numbers, of which a word holds four, eight or 16.
  const int64_t ofWord = 32 / elementBits;
  alignas(64) uint32_t words[8 * kPanelColumns];
  for (int64_t block = 0; block < blocks(); block += 8 * ofWord) {
    const int64_t count = std::min(8 * ofWord, blocks() - block);
    const ColumnWords from = {
        zero.view.data + (first + block) * elementBits / 8,
        zero.columnStride * elementBits / 8, columnsOf(panel),
        (count * elementBits + 7) / 8,
        isSigned(data.element) ? signsOf(elementBits) : 0u};
    loops().gatherWords(from, words);
    loops().fieldsAsNumbers(words, from.words(), elementBits,
                            zeros + block * kPanelColumns);
  }
  return true;
}

void FieldMatrix::gatherZeros(int64_t panel, float *zeros) const {
  const auto isOne = [](const Parameter &p) {
    return p.blockStride == 0 && p.columnStride == 0;
  };
  if (!hasZeros || isOne(zero)) {
    const float number = !hasZeros    ? zeroOfAll
                         : areNumbers ? numberAt(zero.view, 0)
                                      : fieldAt(zero.view, 0);
    std::fill_n(zeros, blocks() * kPanelColumns, number);
  } else if (areNumbers) {
    gatherEach(zero, panel, numberAt, zeros);
  } else if (!gatherPackedZeros(panel, zeros)) {
    gatherEach(zero, panel, fieldAt, zeros);
  }
}

void FieldMatrix::gatherScales(int64_t panel, int64_t ahead, float *scales,
                               float *zeros) const {
  gatherZeros(panel, zeros);
  const bool isDense = areBlocksInOrder && scale.blockStride == 1 &&
                       scale.view.element == artifact::ElementType_Float32;
  if (!hasBlocks || !isDense)
    return gatherEach(scale, panel, numberAt, scales);
  const int64_t first = blockAt(0) + panel * kPanelColumns * scale.columnStride;
  loops().gatherWords({scale.view.data + first * 4, scale.columnStride * 4,
                       columnsOf(panel), blocks() * 4, 0,
                       ahead * kPanelColumns * scale.columnStride * 4},
                      reinterpret_cast<uint32_t *>(scales));
}

} // namespace shardc::runtime::host
