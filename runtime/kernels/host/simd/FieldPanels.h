//===- FieldPanels.h - Panels of weights of 2, 4 or 8 bits ----------------===//
//
// A quantised matrix B [k, n] whose columns lie dense is multiplied as it lies:
// a few columns and rows of it at a time come into the first cache, as words of
// 32 bits, of which each has a column for itself. 8 rows of 16 columns, 4 bits:
//
//   word of column 0: rows 7 6 5 4 3 2 1 0   word of column 1: ...
//
// so that a vector of words becomes, shifted and masked, a row of numbers. They
// are (field - zero) * scale, rounded as DequantizeLinear does, and summed in
// the order of PackedMatrix.h: a row's bits depend neither on the other rows
// nor on whether numbers or fields lie in memory.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_KERNELS_HOST_SIMD_FIELDPANELS_H
#define SHARDC_RUNTIME_KERNELS_HOST_SIMD_FIELDPANELS_H

#include "runtime/kernels/host/simd/PackedMatrix.h"

#include <algorithm>

namespace shardc::runtime::host {

/// What a field of a word is: an integer of 2, 4 or 8 bits, or a number.
enum class FieldKind : uint8_t {
  Integer2,
  Integer4,
  Integer8,
  Float8E4M3,
  Float8E4M3FNUZ,
  Float8E5M2,
  Float8E5M2FNUZ
};

constexpr bool isFloat(FieldKind kind) { return kind >= FieldKind::Float8E4M3; }

constexpr int bitsOf(FieldKind kind) {
  return kind == FieldKind::Integer2 ? 2 : kind == FieldKind::Integer4 ? 4 : 8;
}

/// Some columns, each of words that follow each other in memory.
struct ColumnWords {
  const std::byte *columns = nullptr;
  int64_t columnBytes = 0; ///< from column to column
  int64_t count = 0;       ///< 1 to kPanelColumns
  int64_t bytes = 0;       ///< of a column
  uint32_t flip = 0;       ///< bits that are turned over
  int64_t ahead = 0;       ///< so far on is what is asked of memory meanwhile

  int64_t words() const { return (bytes + 3) / 4; }
};

/// Or some columns of rows that lie dense; elements become bytes.
struct RowBytes {
  const std::byte *rows = nullptr;
  int64_t rowBytes = 0; ///< from row to row
  int64_t count = 0;    ///< 1 to kPanelColumns
  int64_t depth = 0;    ///< rows
  int bits = 8;         ///< of an element
  uint32_t flip = 0;    ///< of words of what are bytes then
};

/// Panels of words, with the scale and zero point of each block of rows.
struct FieldPanels {
  FieldKind kind = FieldKind::Integer4;
  int64_t depth = 0; ///< rows
  const uint32_t *words = nullptr;
  int64_t panelStep = 0; ///< words of a panel
  /// Of the first block, 16 a block; zero points as numbers.
  const float *scales = nullptr, *zeros = nullptr;
  int64_t scaleStep = 0; ///< scales of a panel
  /// Until the first block ends, and of the others: multiples of those of a
  /// word.
  int64_t firstRows = 0, blockRows = 0;
  bool hasOneZero = false; ///< all zero points are alike

  int64_t rowsOfWord() const { return 32 / bitsOf(kind); }
};

/// C [m, n] += A B for rows of A up to kFewRows and the panels' columns.
struct FieldProduct {
  FieldPanels b;
  int64_t m = 0, n = 0;
  const float *a = nullptr;
  int64_t rowStepA = 0, depthStepA = 1;
  float *c = nullptr;
  int64_t leadingC = 0;
  bool adds = false; ///< to what C holds
};

/// Of a matrix of n of them.
constexpr int64_t columnsOfPanel(int64_t panel, int64_t n) {
  return std::min(kPanelColumns, n - panel * kPanelColumns);
}

/// Memory is asked for rows of words and blocks of scales so far ahead: processors
/// see less far.
inline constexpr int64_t kRowsAhead = 16, kBlocksAhead = 4;

/// Rows of A up to which fields are multiplied as they are decoded.
inline constexpr int64_t kFewRows = 8;

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_HOST_SIMD_FIELDPANELS_H
