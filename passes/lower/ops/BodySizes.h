//===- BodySizes.h - Sizes that bodies of control flow set ----------------===//
#ifndef SHARDC_PASSES_LOWER_OPS_BODYSIZES_H
#define SHARDC_PASSES_LOWER_OPS_BODYSIZES_H

#include "passes/lower/Lowering.h"

namespace shardc::lower {

/// All sizes of these types, in order.
llvm::SmallVector<dist::DimExpr> sizesOf(mlir::TypeRange types);

/// The sizes of what bodies give. Those that are symbols which nothing has
/// bound before are set at the end of each body; the others must hold.
///
///   sizes [n, 96], values [seq, 96]     rt.set_sizes n = seq
///   sizes [batch], values [seq]         the guard batch = seq
class BodySizes {
public:
  using Rename = llvm::function_ref<dist::DimExpr(dist::DimExpr)>;

  BodySizes(Lowering &lowering, llvm::ArrayRef<dist::DimExpr> sizes);

  bool hasOwn() const { return !own.empty(); }
  llvm::ArrayRef<dist::DimExpr> ownSymbols() const { return own; }
  /// `rename` gives other symbols in place of its own.
  void setTo(
      mlir::Operation *op, llvm::ArrayRef<dist::DimExpr> values,
      const Rename &rename = [](dist::DimExpr own) { return own; }) const;
  void markBound() const { lowering.bindSymbols(own); }

private:
  Lowering &lowering;
  llvm::SmallVector<dist::DimExpr> sizes, own;
};

} // namespace shardc::lower

#endif // SHARDC_PASSES_LOWER_OPS_BODYSIZES_H
