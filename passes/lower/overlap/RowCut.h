//===- RowCut.h - The rows of a value in parts ----------------------------===//
//
// A product C [..., m, n] = A [..., m, k] B [k, n] computes each row by itself,
// and a collective treats all rows alike. Rows are cut where both allow it; on
// tp = 2, rows [batch, seq]:
//
//   all_reduce                [batch * seq]            cut anywhere
//   reduce_scatter of seq     [batch, seq]             cut along the batch, or
//                             [batch, 2, seq / 2]      each rank's part alike
//
// The latter takes some rows of each rank's part, so that each rank gets some
// of its own: it needs parts of equal size. A symbolic seq has them only where
// it is even, so that the cut has no rows where it is odd, and uncutRows all:
//
//   [batch, 2, e * (seq floordiv 2)]      e: 1 where seq is even, else 0
//   [batch, seq - 2 * e * (seq floordiv 2)]
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_LOWER_OVERLAP_ROWCUT_H
#define SHARDC_PASSES_LOWER_OVERLAP_ROWCUT_H

#include "passes/lower/StridedLayout.h"

namespace shardc::lower {

/// Rows, as a product of dims of which one is cut.
struct RowCut {
  Sizes dims;
  size_t dim = 0;
  /// Of the collective's own dim among `dims`: that number is 1 on one side.
  /// Nothing for an all_reduce.
  std::optional<size_t> split;
  /// Its size, where only some sizes have parts that are equal.
  std::optional<dist::DimExpr> splitSize;

  /// Whether each rank's part is cut, behind the ways.
  bool isOfEachPart() const { return split && dim == *split + 1; }
  /// Rows with the collective's own dim in one.
  Sizes wholeDims() const;
  /// Rows of one element of the dim that is cut.
  dist::DimExpr rowsPerUnit() const;
  dist::DimExpr numRows() const { return dist::product(wholeDims()); }
};

/// Elements [start, start + size) of the dim that is cut.
struct RowPart {
  dist::DimExpr start, size;
};

/// Of an all_reduce of a value with so many rows.
RowCut cutAnywhere(dist::DimExpr rows);
/// Of a collective that splits dim `split` of a value with these sizes (the
/// columns, behind the rows, included) into `ways` equal parts; nothing where
/// they never are.
std::optional<RowCut> cutEachPart(llvm::ArrayRef<dist::DimExpr> dims,
                                  size_t split, int64_t ways);
/// The same for parts of any size; nothing where there is no other dim.
std::optional<RowCut> cutOutside(llvm::ArrayRef<dist::DimExpr> dims,
                                 size_t split);

/// All rows where a cut has none because of their number, as one part of a cut
/// that says how they lie; nothing where it always has its rows.
std::optional<std::pair<RowCut, RowPart>> uncutRows(const RowCut &cut);

/// Equal parts, of at least `leastRows` rows; the last ones may be smaller, or
/// empty.
std::vector<RowPart> partsOf(const RowCut &cut, int64_t parts,
                             int64_t leastRows);

/// A value [rows..., columns], with its rows as those of the cut; nothing where
/// that needs a copy, or it has other rows.
std::optional<StridedLayout> withRows(const StridedLayout &layout,
                                      llvm::ArrayRef<dist::DimExpr> rows);
std::optional<StridedLayout> withRows(const StridedLayout &layout,
                                      const RowCut &cut);

} // namespace shardc::lower

#endif // SHARDC_PASSES_LOWER_OVERLAP_ROWCUT_H
