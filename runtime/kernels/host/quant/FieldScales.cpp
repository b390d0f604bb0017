//===- FieldScales.cpp - Scales and zero points of quantised weights ------===//

#include "runtime/kernels/host/quant/FieldScales.h"

#include "runtime/base/AlignedBuffer.h"
#include "runtime/kernels/elementwise/CastFloat8.h"
#include "runtime/kernels/host/KernelThreads.h"
#include "runtime/kernels/host/quant/FieldElements.h"
#include "runtime/kernels/host/simd/Loops.h"
#include "runtime/kernels/product/IntegerReader.h"

#include <algorithm>

namespace shardc::runtime::host {
namespace {

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

/// Words of zero points are made numbers whole: so many blocks may follow.
constexpr int64_t kMoreBlocks = 15;

} // namespace

bool FieldScales::readBlocks(const KernelCall &call,
                             const QuantizedViews &views, int axis,
                             int64_t rowsOfWord) {
  hasBlocks = views.hasBlocks;
  const bool variesAlongK =
      scale.blockStride != 0 || (hasZeros && zero.blockStride != 0);
  if (!hasBlocks) {
    rowsOfBlock = (k + rowsOfWord - 1) / rowsOfWord * rowsOfWord;
    return !variesAlongK || k == 1;
  }
  rowsOfScale = views.blockSize;
  packedBlocks = views.scale.dims[axis];
  if (rowsOfScale <= 0 || !global.read(call, "", k).isOk())
    return false;
  // What a rank has of a dim may begin within a block.
  rowsOfBlock = global.largestRun(rowsOfScale);
  if (rowsOfBlock == 0 || rowsOfBlock % rowsOfWord != 0)
    return false;
  for (int64_t block = 0; block < blocks(); ++block) {
    areBlocksInOrder &= blockAt(block) == blockAt(0) + block;
    if (blockAt(block) < 0 || blockAt(block) >= views.scale.dims[axis])
      return false;
  }
  return true;
}

bool FieldScales::read(const KernelCall &call,
                       const DequantizedOperands &operands,
                       int64_t rowsOfWord) {
  const int row = operands.row(), column = operands.column();
  const QuantizedViews &b = operands.b;
  k = b.data.dims[row];
  n = b.data.dims[column];
  element = b.data.element;
  const auto parameterOf = [&](const TensorView &view) {
    return Parameter{view, view.strides[row], view.strides[column]};
  };
  scale = parameterOf(b.scale);
  zero = parameterOf(b.zeroPoint);
  hasZeros = b.hasZeroPoint;
  areNumbers = hasZeros && zero.view.element == scale.view.element;
  if ((areNumbers && isSigned(element)) ||
      (hasZeros && !areNumbers && zero.view.element != element))
    return false;
  return readBlocks(call, b, row, rowsOfWord);
}

int64_t packedScaleBytes(const TensorView &scales) {
  // One block is gathered for next to nothing, and so is one scale for many.
  const auto varies = [&](int d) {
    return scales.dims[d] > 1 && scales.strides[d] != 0;
  };
  const bool isRead = scales.element == artifact::ElementType_Float32 ||
                      areHalves(scales.element);
  if (!isRead || !varies(0) || (scales.dims[1] > 1 && !varies(1)))
    return 0;
  return panelsOf(scales.dims[1]) * scales.dims[0] * kPanelColumns *
         artifact::elementBytes(scales.element);
}

/// `T` is as large as an element.
template <typename T>
static void packPanel(const TensorView &scales, int64_t panel, T *to) {
  const T *from = scales.as<T>() + panel * kPanelColumns * scales.strides[1];
  const int64_t blocks = scales.dims[0];
  const int64_t columns = columnsOfPanel(panel, scales.dims[1]);
  if constexpr (sizeof(T) == 4)
    if (scales.strides[0] == 1)
      return loops().gatherWords({reinterpret_cast<const std::byte *>(from),
                                  scales.strides[1] * 4, columns, blocks * 4},
                                 to);
  for (int64_t c = 0; c < kPanelColumns; ++c) {
    const T *column = from + std::min(c, columns - 1) * scales.strides[1];
    for (int64_t block = 0; block < blocks; ++block)
      to[block * kPanelColumns + c] = column[block * scales.strides[0]];
  }
}

template <typename T>
static void packPanels(const TensorView &scales, std::byte *to) {
  const int64_t panels = panelsOf(scales.dims[1]);
  const int64_t size = scales.dims[0] * kPanelColumns;
  shareRanges(panels, threadsFor(panels, panels * size), /*least=*/1,
              [&](int64_t panel, int64_t end) {
                for (; panel < end; ++panel)
                  packPanel(scales, panel,
                            reinterpret_cast<T *>(to) + panel * size);
              });
}

void packScales(const TensorView &scales, std::byte *to) {
  (areHalves(scales.element) ? packPanels<uint16_t>
                             : packPanels<uint32_t>)(scales, to);
}

/// Whether they are packed may not be known yet.
int64_t PanelScales::scaleBytes(const FieldScales &all, int64_t panels) {
  const int64_t blocks =
      std::max(all.blocks(), all.takePacked() ? all.packedBlocks : 0);
  return alignBuffer(panels * blocks * kPanelColumns * 4);
}

int64_t PanelScales::bytes(const FieldScales &all, int64_t panels) {
  return 2 * scaleBytes(all, panels) + kMoreBlocks * kPanelColumns * 4;
}

PanelScales::PanelScales(const FieldScales &all, int64_t panels,
                         std::byte *memory)
    : all(all), panels(panels), panelStep(all.panelStep()),
      ownScales(reinterpret_cast<float *>(memory)),
      ownZeros(reinterpret_cast<float *>(memory + scaleBytes(all, panels))),
      found(ownScales) {
  if (!all.hasOneZero())
    return;
  const float sign =
      isSigned(all.element) ? float(1u << (bitsOf(all.element) - 1)) : 0;
  std::fill_n(ownZeros, std::min(panels, panelsOf(all.n)) * panelStep,
              !all.hasZeros    ? sign
              : all.areNumbers ? numberAt(all.zero.view, 0)
                               : fieldAt(all.zero.view, 0));
}

void PanelScales::gather(int64_t first, int64_t count) {
  if (all.isPacked())
    found = packedOf(first, count);
  for (int64_t p = 0; p < count && !all.isPacked(); ++p)
    gatherScales(first + p, ownScales + p * panelStep);
  for (int64_t p = 0; p < count && !all.hasOneZero(); ++p)
    gatherZeros(first + p, ownZeros + p * panelStep);
}

/// Where they are; of halves after they have become floats.
const float *PanelScales::packedOf(int64_t panel, int64_t count) const {
  const auto element = all.scale.view.element;
  const int64_t skipped = all.blockAt(0) * kPanelColumns;
  const std::byte *from =
      all.packed + panel * panelStep * artifact::elementBytes(element);
  if (!areHalves(element))
    return reinterpret_cast<const float *>(from) + skipped;
  for (int64_t p = 0; p < count; ++p)
    loops().widenRow.of(element)(from + (p * panelStep + skipped) * 2,
                                 all.blocks() * kPanelColumns,
                                 ownScales + p * panelStep);
  return ownScales;
}

template <typename Read>
void PanelScales::gatherEach(const FieldScales::Parameter &from, int64_t panel,
                             Read &&read, float *to) const {
  for (int64_t block = 0; block < all.blocks(); ++block) {
    const int64_t first = all.blockAt(block) * from.blockStride +
                          panel * kPanelColumns * from.columnStride;
    for (int64_t c = 0; c < kPanelColumns; ++c, ++to)
      *to = read(from.view,
                 first + std::min(c, columnsOfPanel(panel, all.n) - 1) *
                             from.columnStride);
  }
}

void PanelScales::gatherScales(int64_t panel, float *to) const {
  const FieldScales::Parameter &scale = all.scale;
  const bool isDense = all.areBlocksInOrder && scale.blockStride == 1 &&
                       scale.view.element == artifact::ElementType_Float32;
  if (!all.hasBlocks || !isDense)
    return gatherEach(scale, panel, numberAt, to);
  const int64_t first =
      all.blockAt(0) + panel * kPanelColumns * scale.columnStride;
  loops().gatherWords({scale.view.data + first * 4, scale.columnStride * 4,
                       columnsOfPanel(panel, all.n), all.blocks() * 4, 0,
                       panels * kPanelColumns * scale.columnStride * 4},
                      reinterpret_cast<uint32_t *>(to));
}

/// Fields that follow each other from block to block.
bool PanelScales::gatherDenseZeros(int64_t panel, float *to) const {
  const FieldScales::Parameter &zero = all.zero;
  const int bits = bitsOf(all.element);
  Float8Codec codec;
  const int64_t first = all.blockAt(0) * zero.blockStride +
                        panel * kPanelColumns * zero.columnStride +
                        zero.view.skipped;
  if (findFloat8(all.element, codec) || !all.hasBlocks ||
      zero.blockStride != 1 || !all.areBlocksInOrder || first * bits % 8 != 0 ||
      zero.columnStride * bits % 8 != 0)
    return false;
  // One block has 16 numbers, of which a word holds four, eight or 16.
  const int64_t ofWord = 32 / bits;
  alignas(64) uint32_t words[8 * kPanelColumns];
  for (int64_t block = 0; block < all.blocks(); block += 8 * ofWord) {
    const int64_t count = std::min(8 * ofWord, all.blocks() - block);
    const ColumnWords from = {
        zero.view.data + (first + block) * bits / 8,
        zero.columnStride * bits / 8, columnsOfPanel(panel, all.n),
        (count * bits + 7) / 8, isSigned(all.element) ? signsOf(bits) : 0u};
    loops().gatherWords(from, words);
    loops().fieldsAsNumbers(words, from.words(), bits,
                            to + block * kPanelColumns);
  }
  return true;
}

void PanelScales::gatherZeros(int64_t panel, float *to) const {
  if (all.areNumbers)
    gatherEach(all.zero, panel, numberAt, to);
  else if (!gatherDenseZeros(panel, to))
    gatherEach(all.zero, panel, fieldAt, to);
}

} // namespace shardc::runtime::host
