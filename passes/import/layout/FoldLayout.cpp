//===- FoldLayout.cpp - Shortest chains of Reshape and Transpose ----------===//
//
// One walk in order: each op looks at its operand's chain, which is as short
// as it can be already.
//
//===----------------------------------------------------------------------===//

#include "passes/import/Passes.h"
#include "passes/import/layout/LayoutChain.h"

#include "dialects/onnx/ops/Layout.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace shardc::import {

#define GEN_PASS_DEF_FOLDLAYOUT
#include "passes/import/Passes.h.inc"

using dist::DimExpr;
using namespace onnx;

namespace {

struct FoldLayout : impl::FoldLayoutBase<FoldLayout> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (Block &block : function.getBody())
        run(block);
  }

private:
  void run(Block &block);
};

} // namespace

static bool hasDims(Value value, ArrayRef<DimExpr> dims) {
  return ArrayRef<DimExpr>(dist::getDims(value.getType())) == dims;
}

/// Reshape of `data`, or of what that is a Reshape of.
static Value reshape(OpBuilder &builder, Location loc, Value data,
                     RankedTensorType type) {
  if (auto inner = data.getDefiningOp<ReshapeOp>())
    data = inner.getData();
  if (hasDims(data, dist::getDims(type)))
    return data;
  return ReshapeOp::create(builder, loc, type, data, ValueRange{});
}

/// Transpose of `data`, or of what that is a Transpose of.
static Value transpose(OpBuilder &builder, Location loc, Value data,
                       SmallVector<int64_t> perm) {
  if (auto inner = data.getDefiningOp<TransposeOp>()) {
    ArrayRef<int64_t> innerPerm = *inner.getPerm();
    for (int64_t &d : perm)
      d = innerPerm[d];
    data = inner.getData();
  }
  if (isIdentity(perm))
    return data;
  SmallVector<DimExpr, 4> dims = dist::getDims(data.getType()), permuted;
  for (int64_t d : perm)
    permuted.push_back(dims[d]);
  Type element = cast<RankedTensorType>(data.getType()).getElementType();
  return TransposeOp::create(builder, loc, dist::makeType(element, permuted),
                             data, builder.getDenseI64ArrayAttr(perm));
}

/// Transpose of a Transpose.
static Value foldTranspose(OpBuilder &builder, TransposeOp op) {
  if (!op.getData().getDefiningOp<TransposeOp>())
    return {};
  return transpose(builder, op.getLoc(), op.getData(),
                   SmallVector<int64_t>(*op.getPerm()));
}

/// Reshape of a Reshape, or of a Transpose of a Reshape that merges dims.
static Value foldReshape(OpBuilder &builder, ReshapeOp op) {
  auto type = cast<RankedTensorType>(op.getResult().getType());
  if (hasDims(op.getData(), dist::getDims(type)))
    return op.getData();
  if (op.getData().getDefiningOp<ReshapeOp>())
    return reshape(builder, op.getLoc(), op.getData(), type);
  auto moved = op.getData().getDefiningOp<TransposeOp>();
  auto merged =
      moved ? moved.getData().getDefiningOp<ReshapeOp>() : ReshapeOp();
  if (!merged)
    return {};
  SmallVector<DimExpr, 4> dims = dist::getDims(merged.getData().getType());
  auto perm = permutationOf(dims, dist::getDims(merged.getResult().getType()),
                            *moved.getPerm());
  if (!perm)
    return {};
  SmallVector<DimExpr, 4> permuted;
  for (int64_t d : *perm)
    permuted.push_back(dims[d]);
  // With another use the first Transpose stays: then only if nothing is left
  // of this Reshape is there something to gain.
  bool isWhole =
      ArrayRef<DimExpr>(permuted) == ArrayRef<DimExpr>(dist::getDims(type));
  if (!isWhole && !(moved->hasOneUse() && merged->hasOneUse()))
    return {};
  Value result = transpose(builder, op.getLoc(), merged.getData(), *perm);
  return reshape(builder, op.getLoc(), result, type);
}

void FoldLayout::run(Block &block) {
  OpBuilder builder(block.getParentOp()->getContext());
  SmallVector<Operation *> dead;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    builder.setInsertionPoint(&op);
    Value folded;
    if (auto reshapeOp = dyn_cast<ReshapeOp>(op))
      folded = foldReshape(builder, reshapeOp);
    else if (auto transposeOp = dyn_cast<TransposeOp>(op))
      folded = foldTranspose(builder, transposeOp);
    if (!folded)
      continue;
    Value data = op.getOperand(0);
    op.getResult(0).replaceAllUsesWith(folded);
    op.erase();
    ++numFolded;
    // What fed it may have no use any more.
    while (Operation *source = data.getDefiningOp()) {
      if (!isa<ReshapeOp, TransposeOp>(source) || !isOpTriviallyDead(source))
        break;
      data = source->getOperand(0);
      source->erase();
      ++numFolded;
    }
  }
}

} // namespace shardc::import
