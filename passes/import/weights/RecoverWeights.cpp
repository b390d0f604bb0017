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
//===----------------------------------------------------------------------===//

#include "passes/import/weights/SpelledWeights.h"

#include "dialects/onnx/ops/Contraction.h"
#include "dialects/onnx/ops/Layout.h"
#include "dialects/onnx/ops/Quantization.h"
#include "dialects/onnx/ops/Source.h"
#include "passes/import/Matching.h"
#include "passes/import/Passes.h"
#include "passes/import/validate/Validator.h"

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

static Value dequantized(OpBuilder &builder, Value numbers,
                         const SpelledWeights &weights) {
  Value scale = weights.scale;
  if (!scale) {
    auto one = RankedTensorType::get(
        SmallVector<int64_t, 3>(dimsOf(numbers).size(), 1), elementOf(numbers));
    scale = ConstantOp::create(
        builder, numbers.getLoc(), one,
        DenseElementsAttr::get(
            one, Attribute(builder.getFloatAttr(elementOf(numbers), 1))));
  }
  OperationState state(numbers.getLoc(),
                       DequantizeLinearOp::getOperationName());
  state.addOperands({weights.stored, scale});
  if (weights.zero)
    state.addOperands(weights.zero);
  state.addTypes(numbers.getType());
  state.addAttribute("axis", builder.getI64IntegerAttr(weights.axis));
  state.addAttribute("block_size", builder.getI64IntegerAttr(weights.block));
  return builder.create(state)->getResult(0);
}

/// Makes what `operand` of a product reads, before it is turned, a
/// DequantizeLinear.
static bool recoverWeight(OpOperand &operand, Validator &validator) {
  OpOperand *use = &operand;
  if (auto transpose = use->get().getDefiningOp<TransposeOp>())
    use = &transpose.getDataMutable();
  Value numbers = use->get();
  if (!numbers.getDefiningOp() || numbers.getDefiningOp<DequantizeLinearOp>() ||
      dimsOf(numbers).size() < 2)
    return false;
  OpBuilder builder(use->getOwner());
  std::optional<SpelledWeights> weights =
      SpelledWeights::of(numbers, builder, numbers.getLoc());
  if (!weights)
    return false;
  Value made = dequantized(builder, numbers, *weights);
  if (!validator.allows(numbers, made, "a quantised weight"))
    return false;
  use->set(made);
  return true;
}

void RecoverWeights::runOnOperation() {
  Validator validator;
  getOperation().walk([&](Block *block) {
    if (!isa<func::FuncOp>(block->getParentOp()))
      return;
    validator.enter(*block);
    for (Operation &op : *block)
      if (isa<MatMulOp, GemmOp>(op) &&
          recoverWeight(op.getOpOperand(1), validator))
        ++numWeights;
    eraseDead(*block);
  });
  numValidated += validator.numEvaluated;
  numUndone += validator.numUndone;
  numBelieved += validator.numUnknown;
}

} // namespace shardc::import
