//===- FieldMatrix.h - Quantised weights as loops read them ---------------===//
//
// A matrix [k, n] of elements of 2, 4 or 8 bits, integers or numbers, with scales
// and zero points (FieldScales.h), of which a group of columns is brought to
// FieldPanels.h's form while it is multiplied. Columns that lie dense are read
// as words, rows of bytes as bytes:
//
//   MatMulNBits [n, k] of 4 bits, seen as [k, n]   words of 8 rows
//   of 2 bits                                      words of 16 rows
//   DequantizeLinear of int8 [k, n]                words of 4 rows
//   of int4 [k, n]                                 the same, as bytes
//
// Of weights that stay the same all words of a panel were packed once, one row
// of 16 words behind the other, in place of what the file has.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_KERNELS_HOST_QUANT_FIELDMATRIX_H
#define SHARDC_RUNTIME_KERNELS_HOST_QUANT_FIELDMATRIX_H

#include "runtime/kernels/host/quant/FieldScales.h"
#include "runtime/kernels/host/simd/Loops.h"

namespace shardc::runtime::host {

class FieldMatrix {
public:
  /// B of operands whose batch dims repeat it. False where there are no such
  /// loops for how it lies; the error of a call that is wrong is another's.
  bool read(const KernelCall &call, const DequantizedOperands &operands);
  /// B alone, [k, n]: what packing has to know.
  bool readMatrix(const TensorView &matrix);
  /// Its words and scales as `pack` and packScales have left them; null where nobody
  /// has.
  void setPacked(const std::byte *words, const std::byte *packedScales) {
    packed = reinterpret_cast<const uint32_t *>(words);
    ofBlocks.setPacked(packedScales);
  }

  /// Whether columns or rows lie dense, however long they are: of a call whose sizes
  /// are not known yet only strides tell it.
  bool isDense() const { return rowStride == 1 || columnStride == 1; }

  int bits() const { return bitsOf(kind); }
  /// Fields are numbers of their own, no integers.
  bool hasFloats() const { return isFloat(kind); }
  int64_t rowsOfWord() const { return 32 / bits(); }
  const FieldScales &scales() const { return ofBlocks; }
  int64_t blockRows() const { return ofBlocks.blockRows(); }
  int64_t blocks() const { return ofBlocks.blocks(); }

  bool isPacked() const { return packed != nullptr; }
  /// Words of a packed panel, and where those of a row begin.
  int64_t packedStep() const {
    return (k + rowsOfWord() - 1) / rowsOfWord() * kPanelColumns;
  }
  const uint32_t *packedAt(int64_t panel, int64_t row) const {
    return packed + panel * packedStep() + row / rowsOfWord() * kPanelColumns;
  }
  int64_t packedBytes() const {
    return (n + kPanelColumns - 1) / kPanelColumns * packedStep() * 4;
  }
  /// `to` is aligned to 64 bytes.
  void pack(std::byte *to) const;

  /// Rows [row, row + depth) of a panel as words; `row` is the first of a word.
  /// Memory is asked for those of the panel that is `ahead` panels on.
  void gather(int64_t panel, int64_t row, int64_t depth, int64_t ahead,
              uint32_t *to) const;
  /// Rows [row, row + depth) of panels whose words are elsewhere; `row` is the first
  /// of a word.
  FieldPanels panelsAt(int64_t row, int64_t depth,
                       const PanelScales &scales) const;

private:
  bool readFields(const TensorView &matrix);
  void gatherFields(int64_t panel, int64_t row, int64_t depth,
                    uint32_t *to) const;
  int64_t columnBytes() const { return columnStride * elementBits / 8; }

  TensorView data;
  const uint32_t *packed = nullptr;
  int64_t k = 0, n = 0;
  int64_t rowStride = 0, columnStride = 0;
  int elementBits = 4;
  FieldKind kind = FieldKind::Integer4;
  bool hasDenseColumns = false;
  bool areAligned = true; ///< columns, or rows, begin at whole bytes
  uint32_t flip = 0;
  FieldScales ofBlocks;
};

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_HOST_QUANT_FIELDMATRIX_H
