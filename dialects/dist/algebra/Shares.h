//===- Shares.h - Which part of a whole the ranks of axes have ------------===//
//
// The ways of an axis have equal parts, unless the mesh gives it shares. What a
// rank has of something that axes split is [begin, end) of total:
//
//   "tp"=2                             [0, 1), [1, 2) of 2
//   "tp"=2:[3, 1]                      [0, 3), [3, 4) of 4
//   "cp"=2, "tp"=2:[3, 1]              [0, 3), [3, 4), [4, 7), [7, 8) of 8
//   "tp":(1)2 of "tp"=4:[5, 1, 1, 1]   [0, 3), [3, 4) of 4: sums of its ways
//   "tp":(2)2 of it, without those     [0, 1), [1, 2) of 2: equal
//
// Of n elements that is [floor(begin n / total), floor(end n / total)). A minor
// axis cuts what the major ones leave, so that without it ranks have exactly the
// parts of the major ones, whatever n is.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_DIALECTS_DIST_ALGEBRA_SHARES_H
#define SHARDC_DIALECTS_DIST_ALGEBRA_SHARES_H

#include "dialects/dist/algebra/Mesh.h"

namespace shardc::dist {

/// Of one way. As many ranks as there may be have totals within 64 bits.
inline constexpr int64_t kMaxShare = 1000;

/// Divided by what divides all of them; none where they are equal.
llvm::SmallVector<int64_t, 2> reducedShares(llvm::ArrayRef<int64_t> shares);

/// "" if an axis may have them, else what is wrong: "tp has 2 ways, ...".
std::string problemOfShares(llvm::ArrayRef<int64_t> shares, const Axis &axis);

struct Part {
  DimExpr begin = 0, end = 1;
  int64_t total = 1;

  /// The same, counted from the other end.
  Part mirrored() const { return {total - end, total - begin, total}; }
  /// Of `size` elements: the first one, and how many.
  DimExpr lowerBound(DimExpr size) const;
  DimExpr localSize(DimExpr size) const;
};

/// Of this rank.
Part partOf(llvm::ArrayRef<AxisRef> axes, const Mesh &mesh);
/// Of the rank with that flat way over the axes.
Part partAt(llvm::ArrayRef<AxisRef> axes, DimExpr way, const Mesh &mesh);

bool hasShares(llvm::ArrayRef<AxisRef> axes, const Mesh &mesh);
/// Parts of so many elements, or a multiple of that, are whole without rounding.
int64_t totalShares(llvm::ArrayRef<AxisRef> axes, const Mesh &mesh);
/// Where the parts of the flat ways begin, and the total: one more than ways.
llvm::SmallVector<int64_t> boundsOf(llvm::ArrayRef<AxisRef> axes,
                                    const Mesh &mesh);

} // namespace shardc::dist

#endif // SHARDC_DIALECTS_DIST_ALGEBRA_SHARES_H
