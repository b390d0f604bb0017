//===- StridedLayout.h - Views with symbolic sizes ------------------------===//
//
// What can be done to a value without touching its bytes. Sizes, strides and
// offset are expressions; everything here is pure.
//
//   contiguous [b, 6, 16]                 strides [96, 16, 1]
//   transpose 0 2 1                       dims [b, 16, 6], strides [96, 1, 16]
//   reshape of that to [b, 96]            nothing: its bytes have another order
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_LOWER_STRIDEDLAYOUT_H
#define SHARDC_PASSES_LOWER_STRIDEDLAYOUT_H

#include "dialects/dist/algebra/Sharding.h"

namespace shardc::lower {

using Sizes = llvm::SmallVector<dist::DimExpr, 4>;

struct StridedLayout {
  Sizes dims;
  Sizes strides;
  dist::DimExpr offset = 0;

  static StridedLayout contiguous(llvm::ArrayRef<dist::DimExpr> dims);
  bool isContiguous() const;

  StridedLayout transposed(llvm::ArrayRef<int64_t> permutation) const;
  /// `size` elements of a dim from `start` on, every `step`th.
  StridedLayout sliced(size_t dim, dist::DimExpr start, dist::DimExpr size,
                       int64_t step = 1) const;
  /// Right-aligned broadcast: stride 0 where a dim of 1 grows.
  StridedLayout broadcast(llvm::ArrayRef<dist::DimExpr> to) const;
  /// Replaces a dim by a row-major product of dims.
  StridedLayout expanded(size_t dim,
                         llvm::ArrayRef<dist::DimExpr> factors) const;
  /// Nothing where it would need a copy.
  std::optional<StridedLayout> reshaped(llvm::ArrayRef<dist::DimExpr> to) const;
};

/// Where the element with global index `start` along a dim lies on a rank: the
/// sizes of what comes before. Nothing if a split segment is cut.
std::optional<dist::DimExpr> localOffset(const dist::DimSharding &dim,
                                         dist::DimExpr start,
                                         const dist::Mesh &mesh);

} // namespace shardc::lower

#endif // SHARDC_PASSES_LOWER_STRIDEDLAYOUT_H
