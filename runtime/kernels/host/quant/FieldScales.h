//===- FieldScales.h - Scales and zero points of quantised weights --------===//
//
// Those of a matrix [k, n] of FieldMatrix.h: one of each for a block of rows of a
// column. Loops read them as numbers, 16 columns of a block behind those of the
// block before it. Of weights that stay the same scales were packed so once,
// in place of what the file has; zero points are gathered for some panels at a time,
// if they are not one for all:
//
//   MatMulNBits [n, blocks], seen as [blocks, n]   panel 0: block 0 of columns
//                                                  0 to 15, block 1 of them, ...
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_KERNELS_HOST_QUANT_FIELDSCALES_H
#define SHARDC_RUNTIME_KERNELS_HOST_QUANT_FIELDSCALES_H

#include "runtime/kernels/host/simd/FieldPanels.h"
#include "runtime/kernels/quant/DequantizedOperands.h"

namespace shardc::runtime::host {

class FieldScales {
public:
  /// Of operands whose batch dims repeat them; words of the matrix hold so many
  /// rows. False where loops have no form for them; the error of a call that is
  /// wrong is another's.
  bool read(const KernelCall &call, const DequantizedOperands &operands,
            int64_t rowsOfWord);
  /// As packScales has left them; null where nobody has.
  void setPacked(const std::byte *scales) { packed = scales; }

  /// Of rows that share scales: the last may have fewer.
  int64_t blockRows() const { return rowsOfBlock; }
  int64_t blocks() const { return (k + rowsOfBlock - 1) / rowsOfBlock; }
  /// Whether loops read what was packed, if there is any.
  bool takePacked() const { return hasBlocks && areBlocksInOrder; }
  /// All zero points are alike.
  bool hasOneZero() const { return !hasZeros || zero.isOne(); }

private:
  friend class PanelScales;

  /// Its strides along blocks and columns.
  struct Parameter {
    TensorView view;
    int64_t blockStride = 0, columnStride = 0;
    bool isOne() const { return blockStride == 0 && columnStride == 0; }
  };
  bool readBlocks(const KernelCall &call, const QuantizedViews &views, int axis,
                  int64_t rowsOfWord);
  bool isPacked() const { return packed && takePacked(); }
  /// Numbers of a panel.
  int64_t panelStep() const {
    return (isPacked() ? packedBlocks : blocks()) * kPanelColumns;
  }
  int64_t blockAt(int64_t block) const {
    return hasBlocks ? global.of(block * rowsOfBlock) / rowsOfScale : 0;
  }

  int64_t k = 0, n = 0;
  int64_t rowsOfBlock = 0; ///< of one scale, each
  int64_t rowsOfScale = 0; ///< in the whole dim, of several blocks maybe
  bool hasBlocks = false, areBlocksInOrder = true;
  /// Of the matrix.
  artifact::ElementType element = artifact::ElementType_UInt8;
  bool hasZeros = false, areNumbers = false;
  GlobalIndex global;
  Parameter scale, zero;
  const std::byte *packed = nullptr;
  int64_t packedBlocks = 0; ///< in a panel: those of the whole dim
};

/// Of a matrix [blocks, n] of scales; 0 where there is nothing to win.
int64_t packedScaleBytes(const TensorView &scales);
void packScales(const TensorView &scales, std::byte *to);

/// Those of some panels of a matrix, which one thread multiplies.
class PanelScales {
public:
  static int64_t bytes(const FieldScales &all, int64_t panels);
  /// `memory` has bytes(all, panels), aligned to 64.
  PanelScales(const FieldScales &all, int64_t panels, std::byte *memory);

  /// Finds those of [first, first + count). Memory is asked for those that lie as many
  /// panels on as it was made for.
  void gather(int64_t first, int64_t count);

  /// 16 of a block, from the first block of the first panel on.
  const float *scales() const { return found; }
  const float *zeros() const { return ownZeros; }
  int64_t step() const { return panelStep; } ///< from panel to panel

private:
  static int64_t scaleBytes(const FieldScales &all, int64_t panels);
  template <typename Read>
  void gatherEach(const FieldScales::Parameter &from, int64_t panel,
                  Read &&read, float *to) const;
  void gatherScales(int64_t panel, float *to) const;
  void gatherZeros(int64_t panel, float *to) const;
  bool gatherDenseZeros(int64_t panel, float *to) const;
  const float *packedOf(int64_t panel, int64_t count) const;

  const FieldScales &all;
  int64_t panels, panelStep;
  float *ownScales, *ownZeros;
  const float *found;
};

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_HOST_QUANT_FIELDSCALES_H
