//===- MergedHeads.cpp - Batch and heads as one dim -----------------------===//

#include "passes/import/attention/MergedHeads.h"

#include "dialects/onnx/ops/Activation.h"
#include "dialects/onnx/ops/Arithmetic.h"
#include "dialects/onnx/ops/Contraction.h"
#include "dialects/onnx/ops/Layout.h"
#include "dialects/onnx/ops/Logic.h"
#include "dialects/onnx/ops/Normalization.h"
#include "passes/import/Matching.h"
#include "passes/import/validate/Validator.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace shardc::import {

using dist::DimExpr;
using namespace onnx;

namespace {

/// Scaling and transpositions between a product and the split of its heads.
constexpr unsigned kMaxDepth = 32;

class HeadSplitter {
public:
  explicit HeadSplitter(Validator &validator) : validator(validator) {}

  void visit(Operation &op);

private:
  Value find(OpBuilder &builder, Value value, unsigned depth = 0);
  Value splitAs(OpBuilder &builder, Value value, DimExpr batch, DimExpr heads);
  void splitProduct(MatMulOp op);
  void splitRows(Operation *op);
  void put(OpBuilder &builder, Operation *op, Value split);

  Validator &validator;
  llvm::DenseMap<Value, Value> splits; ///< (b h) x y to b h x y
};

} // namespace

/// [x, y] of [b, h, x, y] as [b h, x, y].
static Dims merged(ArrayRef<DimExpr> dims) {
  return {dims[0] * dims[1], dims[2], dims[3]};
}

static Value cloned(OpBuilder &builder, Operation *op, IRMapping mapping,
                    ArrayRef<DimExpr> dims) {
  Operation *copy = builder.clone(*op, mapping);
  Type element = elementOf(op->getResult(0));
  copy->getResult(0).setType(dist::makeType(element, dims));
  return copy->getResult(0);
}

/// The 4-D value that a 3-D one is a merged form of, made where scaling or a
/// transposition stands between; null if it is of none.
Value HeadSplitter::find(OpBuilder &builder, Value value, unsigned depth) {
  if (Value split = splits.lookup(value))
    return split;
  if (depth == kMaxDepth)
    return {};
  Operation *op = value.getDefiningOp();
  if (auto reshape = dyn_cast_or_null<ReshapeOp>(op)) {
    Dims dims = dimsOf(reshape.getData());
    return dims.size() == 4 && merged(dims) == dimsOf(value) ? reshape.getData()
                                                             : Value();
  }
  Value split;
  if (auto swap = dyn_cast_or_null<TransposeOp>(op)) {
    split = dimsOf(value).size() == 3 &&
                    *swap.getPerm() == ArrayRef<int64_t>{0, 2, 1}
                ? find(builder, swap.getData(), depth + 1)
                : Value();
    split = split ? transposed(builder, op->getLoc(), split, {0, 1, 3, 2})
                  : Value();
  } else if (isa_and_nonnull<MulOp, DivOp>(op) &&
             splatConstant(op->getOperand(1)) &&
             dimsOf(op->getOperand(1)).size() < 3 &&
             haveSameDims(op->getOperand(0), value)) {
    IRMapping mapping;
    if (Value scaled = find(builder, op->getOperand(0), depth + 1)) {
      mapping.map(op->getOperand(0), scaled);
      split = cloned(builder, op, mapping, dimsOf(scaled));
    }
  }
  if (split)
    splits[value] = split;
  return split;
}

/// An operand of an op on [b, h, ...] values: split, or as it is where it
/// broadcasts over both; null if it does neither.
Value HeadSplitter::splitAs(OpBuilder &builder, Value value, DimExpr batch,
                            DimExpr heads) {
  Dims dims = dimsOf(value);
  const bool isMerged = dims.size() == 3 && dims[0] == batch * heads;
  if (dims.size() < 3 ||
      (dims.size() == 3 && dims[0].isConstant(1) && !isMerged))
    return value;
  if (!isMerged)
    return {};
  Dims apart = {batch, heads, dims[1], dims[2]};
  Value split = find(builder, value);
  return split && dimsOf(split) == apart
             ? split
             : reshaped(builder, value.getLoc(), value, apart);
}

/// `split` in the place of the op's result, merged for those who want that.
void HeadSplitter::put(OpBuilder &builder, Operation *op, Value split) {
  Value result = op->getResult(0);
  Value back = ReshapeOp::create(builder, op->getLoc(), result.getType(), split,
                                 ValueRange{});
  if (!validator.allows(result, back, "what merges batch and heads"))
    return;
  splits[back] = split;
  result.replaceAllUsesWith(back);
}

void HeadSplitter::splitProduct(MatMulOp op) {
  Dims lhs = dimsOf(op.getLhs()), rhs = dimsOf(op.getRhs());
  if (lhs.size() != 3 || rhs.size() != 3 || lhs[0] != rhs[0])
    return;
  OpBuilder builder(op);
  Value left = find(builder, op.getLhs());
  if (!left)
    return;
  Dims dims = dimsOf(left);
  Value right = splitAs(builder, op.getRhs(), dims[0], dims[1]);
  if (!right || dimsOf(right).size() != 4)
    return;
  IRMapping mapping;
  mapping.map(op.getLhs(), left);
  mapping.map(op.getRhs(), right);
  put(builder, op,
      cloned(builder, op, mapping, {dims[0], dims[1], lhs[1], rhs[2]}));
}

/// An op on rows of what was split already. Scores may have been apart for
/// their mask, and merged again for the softmax.
void HeadSplitter::splitRows(Operation *op) {
  OpBuilder builder(op);
  auto softmax = dyn_cast<SoftmaxOp>(op);
  Dims dims = dimsOf(op->getResult(0)), whole;
  for (Value operand : op->getOperands())
    if (Value split = isa<SoftmaxOp, CastOp>(op) ? find(builder, operand)
                                                 : splits.lookup(operand))
      whole = dimsOf(split);
  if (whole.empty() || dims.size() != 3 || dims[0] != whole[0] * whole[1] ||
      (softmax && softmax.getAxis() != 2))
    return;
  IRMapping mapping;
  for (Value operand : op->getOperands()) {
    Value split = splitAs(builder, operand, whole[0], whole[1]);
    if (!split)
      return;
    mapping.map(operand, split);
  }
  Value split =
      cloned(builder, op, mapping, {whole[0], whole[1], dims[1], dims[2]});
  if (softmax)
    split.getDefiningOp<SoftmaxOp>().setAxis(3);
  put(builder, op, split);
}

void HeadSplitter::visit(Operation &op) {
  if (auto product = dyn_cast<MatMulOp>(op))
    splitProduct(product);
  else if (isa<AddOp, SubOp, MulOp, DivOp, MaxOp, MinOp, WhereOp, CastOp,
               SoftmaxOp>(op))
    splitRows(&op);
  else if (auto reshape = dyn_cast<ReshapeOp>(op)) {
    Value split = splits.lookup(reshape.getData());
    if (!split)
      return;
    if (dimsOf(split) == dimsOf(reshape))
      reshape.replaceAllUsesWith(split);
    else
      reshape->setOperand(0, split);
  }
}

void splitMergedHeads(Block &block, Validator &validator) {
  validator.enter(block);
  HeadSplitter splitter(validator);
  for (Operation &op : llvm::make_early_inc_range(block))
    splitter.visit(op);
  eraseDead(block);
}

} // namespace shardc::import
