//===- RecoverWeights.cpp - Quantised weights that a model spells out -----===//
//
// From the weight of each product backwards: is it integers that became floats,
// less a zero point, times a scale, whatever layouts are in between?
//
//   c = Cast q             q: [n, 8, 32] of ui8
//   d = Sub c, (Cast z)    z: [n, 8, 1]
//   m = Mul d, s           s: [n, 8, 1]        q' = Reshape q   [n, 256]
//   w = Reshape m          [n, 256]        ->  w = DequantizeLinear q', s', z'
//   y = MatMul x, (Transpose w)                    {axis = 1, block_size = 32}
//
// What a table's rows are looked up in likewise, where rows become floats behind:
//
//   w = DequantizeLinear q, s      ->  e = DequantizeLinear (Gather q, i),
//   e = Gather w, i                                         (Gather s, i)
//
// Experts' matrices that were put together are put together as they are stored. A Gemm
// becomes a product (GemmProduct.h).
//
//===----------------------------------------------------------------------===//

#include "passes/import/weights/SpelledWeights.h"

#include "dialects/onnx/ops/Contraction.h"
#include "dialects/onnx/ops/Experts.h"
#include "dialects/onnx/ops/Indexing.h"
#include "dialects/onnx/ops/Layout.h"
#include "dialects/onnx/ops/Quantization.h"
#include "dialects/onnx/ops/Source.h"
#include "passes/import/Matching.h"
#include "passes/import/Passes.h"
#include "passes/import/validate/Validator.h"
#include "passes/import/weights/GemmProduct.h"
#include "passes/import/weights/WeightSources.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace shardc::import {

#define GEN_PASS_DEF_RECOVERWEIGHTS
#include "passes/import/Passes.h.inc"

using namespace onnx;

namespace {

struct RecoverWeights : impl::RecoverWeightsBase<RecoverWeights> {
  void runOnOperation() override;
};

} // namespace

/// DequantizeLinear of `weights`, as the value `numbers`.
static Value dequantized(OpBuilder &builder, Value numbers,
                         const SpelledWeights &weights) {
  const Location loc = numbers.getLoc();
  const Type element = elementOf(numbers);
  Dims dims = dimsOf(numbers);
  if (weights.isTurned)
    std::swap(dims.end()[-1], dims.end()[-2]);
  Value scale = weights.scale;
  if (!scale) {
    auto one =
        RankedTensorType::get(SmallVector<int64_t, 3>(dims.size(), 1), element);
    scale = ConstantOp::create(
        builder, loc, one,
        DenseElementsAttr::get(one,
                               Attribute(builder.getFloatAttr(element, 1))));
  }
  Value made = DequantizeLinearOp::create(
      builder, loc, dist::makeType(element, dims), weights.stored, scale,
      weights.zero ? ValueRange(weights.zero) : ValueRange(), weights.axis,
      weights.block, weights.activationBits, IntegerAttr());
  return weights.isTurned
             ? transposed(builder, loc, made, matrixTransposition(dims.size()))
             : made;
}

/// Is it a DequantizeLinear, turned or not, that nobody else reads?
static bool isOwnDequantization(Value numbers) {
  auto transpose = numbers.getDefiningOp<TransposeOp>();
  Value inner = transpose ? transpose.getData() : numbers;
  return inner.getDefiningOp<DequantizeLinearOp>() && numbers.hasOneUse() &&
         inner.hasOneUse();
}

/// Makes what a product, or a mixture of experts, reads a DequantizeLinear of its own,
/// turned where the matrix lies so.
static bool recoverWeight(OpOperand &operand, Validator &validator,
                          ReadWeights &known) {
  Value numbers = operand.get();
  const bool isOfExperts = isa<MixtureOfExpertsOp>(operand.getOwner());
  if (!numbers.getDefiningOp() || isOwnDequantization(numbers) ||
      dimsOf(numbers).size() != (isOfExperts ? 3 : 2))
    return false;
  OpBuilder builder(operand.getOwner());
  std::optional<SpelledWeights> weights =
      SpelledWeights::of(numbers, builder, known);
  if (!weights || !weights->isForProduct())
    return false;
  // Experts are multiplied in the model's types.
  if (isOfExperts)
    weights->activationBits = {};
  Value made = dequantized(builder, numbers, *weights);
  if (!validator.allows(numbers, made, "a quantised weight"))
    return false;
  operand.set(made);
  return true;
}

/// Looks up what is stored, and makes numbers of what was found; rows that are known
/// become numbers once.
static bool gatherStored(GatherOp op, Validator &validator,
                         ReadWeights &known) {
  if (isa_and_present<ConstantOp, WeightOp>(op.getIndices().getDefiningOp()))
    return false;
  OpBuilder builder(op);
  const Location loc = op.getLoc();
  std::optional<SpelledWeights> weights =
      SpelledWeights::of(op.getData(), builder, known);
  const int64_t rank = int64_t(dimsOf(op.getData()).size());
  const int64_t said = static_cast<int64_t>(op.getAxis());
  const int64_t axis = said < 0 ? said + rank : said;
  if (!weights || !weights->hasFewScales() || weights->isTurned || rank < 2 ||
      (weights->block != 0 && weights->axis == axis))
    return false;
  const Dims indices = dimsOf(op.getIndices());
  const bool isOneRow = dimsOf(op.getData())[axis].isConstant(1);
  auto lookUp = [&](Value table) -> Value {
    Dims dims = dimsOf(table);
    const bool isForAll = !isOneRow && dims[axis].isConstant(1);
    dims.erase(dims.begin() + axis);
    dims.insert(dims.begin() + axis, indices.begin(), indices.end());
    if (!isForAll)
      return GatherOp::create(builder, loc,
                              dist::makeType(elementOf(table), dims), table,
                              op.getIndices(), builder.getI64IntegerAttr(axis));
    std::fill_n(dims.begin() + axis, indices.size(), dist::DimExpr(1));
    return reshaped(builder, loc, table, dims);
  };
  for (Value *table : {&weights->stored, &weights->scale, &weights->zero})
    if (*table)
      *table = lookUp(*table);
  if (weights->axis > axis)
    weights->axis += int64_t(indices.size()) - 1;
  Value made = dequantized(builder, op.getResult(), *weights);
  if (!validator.allows(op.getResult(), made, "rows of a quantised table"))
    return false;
  op.getResult().replaceAllUsesWith(made);
  return true;
}

/// A Gemm of a quantised weight as a product; any other op as it is.
static Operation *productOf(Operation *op, ReadWeights &known) {
  auto gemm = dyn_cast<GemmOp>(op);
  if (!gemm || !isProductAndMore(gemm))
    return op;
  OpBuilder builder(op);
  Value matrix = gemm.getRhs();
  if (!matrix.getDefiningOp())
    return op;
  if (gemm.getTransB())
    matrix = transposed(builder, op->getLoc(), matrix, {1, 0});
  const std::optional<SpelledWeights> weights =
      SpelledWeights::of(matrix, builder, known);
  return weights && weights->isForProduct()
             ? replaceByProduct(builder, gemm, matrix)
             : op;
}

static SmallVector<OpOperand *, 2> weightsOf(Operation *op) {
  if (isa<MatMulOp>(op))
    return {&op->getOpOperand(1)};
  if (auto experts = dyn_cast<MixtureOfExpertsOp>(op))
    return {&experts.getUpMutable(), &experts.getDownMutable()};
  return {};
}

void RecoverWeights::runOnOperation() {
  Validator validator;
  getOperation().walk([&](Block *block) {
    if (!isa<func::FuncOp>(block->getParentOp()))
      return;
    validator.enter(*block);
    ReadWeights known;
    for (Operation &op : llvm::make_early_inc_range(*block)) {
      if (auto gather = dyn_cast<GatherOp>(op))
        numWeights += gatherStored(gather, validator, known);
      for (OpOperand *operand : weightsOf(productOf(&op, known)))
        numWeights += recoverWeight(*operand, validator, known);
    }
    eraseDead(*block);
  });
  numValidated += validator.numEvaluated;
  numUndone += validator.numUndone;
  numBelieved += validator.numUnknown;
}

} // namespace shardc::import
