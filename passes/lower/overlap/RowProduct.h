//===- RowProduct.h - A product whose rows are independent ----------------===//
//
// A call of a kernel that computes each row of its output from the same row of
// some inputs, and all of the others:
//
//   rt.call "MatMul"(%a : [batch, seq, 64], %w : [batch, 64, 32], strides
//                    [0, 32, 1]) into(%p : [batch, seq, 32])
//
// is a product of batch * seq rows. Weights, quantised ones too, are not cut:
// they are the same for all rows, so batch dims of theirs only repeat.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_LOWER_OVERLAP_ROWPRODUCT_H
#define SHARDC_PASSES_LOWER_OVERLAP_ROWPRODUCT_H

#include "dialects/rt/Rt.h"
#include "passes/lower/overlap/RowCut.h"

#include "mlir/IR/Builders.h"

namespace shardc::lower {

StridedLayout layoutOf(mlir::Value view);
/// Without dims that only repeat the matrix; nothing where others are left.
std::optional<StridedLayout> matrixOf(const StridedLayout &layout);
/// A view like that one on another window, or another buffer.
mlir::Value viewLike(mlir::Value view, mlir::Value buffer,
                     const StridedLayout &layout, mlir::OpBuilder &builder);

struct RowProduct {
  mutable rt::CallOp call; ///< a handle, whose accessors are not const
  llvm::SmallVector<unsigned, 2> rowInputs; ///< the first one is multiplied

  /// Nothing where the call is no such product.
  static std::optional<RowProduct> of(rt::CallOp call);

  mlir::Value rowInput() const { return call.getInputs()[rowInputs.front()]; }
  mlir::Value output() const { return call.getOutputs().front(); }
  dist::DimExpr depth() const { return layoutOf(rowInput()).dims.back(); }
  dist::DimExpr columns() const { return layoutOf(output()).dims.back(); }
  int64_t elementBits() const;
  bool isDequantized() const;
  /// Whether it reads the buffer as another input than the first one.
  bool readsElsewhere(mlir::Value buffer) const;

  /// Whether its operands can be cut like that without a copy.
  bool canCut(const RowCut &cut) const;
  /// The call for a part. What is between it and a collective, its output or
  /// else its first input, is in `between`, which holds this part alone.
  void addPart(const RowCut &cut, const RowPart &part, mlir::Value between,
               bool isOutput, mlir::OpBuilder &builder) const;
};

} // namespace shardc::lower

#endif // SHARDC_PASSES_LOWER_OVERLAP_ROWPRODUCT_H
