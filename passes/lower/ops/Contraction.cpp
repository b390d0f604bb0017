//===- Contraction.cpp - Lowering of products, convolution, attention -----===//

#include "dialects/onnx/ops/Contraction.h"

#include "dialects/onnx/ops/Attention.h"
#include "passes/lower/Lowering.h"
#include "passes/lower/ops/Quantization.h"

using namespace mlir;

namespace shardc::lower {

/// Batch dims of both operands are broadcast to the result's.
static LogicalResult lowerMatMul(Operation *op, Lowering &lowering) {
  if (FusedWeights weights = findFusedWeights(op->getOpOperand(1));
      weights.dequantization)
    return lowerFusedProduct(op, weights, lowering);
  Sizes dims = Lowering::localDims(op->getResult(0));
  auto withBatch = [&](Value operand) {
    ValueView view = lowering.view(operand);
    Sizes wanted(dims.begin(), dims.end() - 2);
    wanted.append(view.layout.dims.end() - 2, view.layout.dims.end());
    return view.with(view.layout.broadcast(wanted));
  };
  ValueView lhs = withBatch(op->getOperand(0)),
            rhs = withBatch(op->getOperand(1));
  lowering.call(op, "MatMul", {lhs, rhs},
                {lowering.allocate(op, op->getResult(0))});
  return success();
}

static LogicalResult lowerGemm(Operation *op, Lowering &lowering) {
  auto gemm = cast<onnx::GemmOp>(op);
  ValueView lhs = lowering.view(gemm.getLhs()),
            rhs = lowering.view(gemm.getRhs());
  if (gemm.getTransA())
    lhs.layout = lhs.layout.transposed({1, 0});
  if (gemm.getTransB())
    rhs.layout = rhs.layout.transposed({1, 0});
  SmallVector<ValueView, 3> inputs{lhs, rhs};
  if (!gemm.getAddend().empty()) {
    ValueView addend = lowering.view(gemm.getAddend().front());
    if (!addend.isAbsent())
      addend.layout =
          addend.layout.broadcast(Lowering::localDims(op->getResult(0)));
    inputs.push_back(addend);
  }
  lowering.call(op, "Gemm", inputs, {lowering.allocate(op, op->getResult(0))},
                Lowering::attributes(op, {"alpha", "beta"}));
  return success();
}

static SmallVector<ValueView, 4> viewsOf(ValueRange values,
                                         Lowering &lowering) {
  SmallVector<ValueView, 4> views;
  for (Value value : values)
    views.push_back(lowering.view(value));
  return views;
}

static LogicalResult lowerConv(Operation *op, Lowering &lowering) {
  lowering.call(
      op, "Conv", viewsOf(op->getOperands(), lowering),
      {lowering.allocate(op, op->getResult(0))},
      Lowering::attributes(op, {"strides", "pads", "dilations", "group"}));
  return success();
}

/// Keys that precede the first query of this rank.
static dist::DimExpr causalOffset(Operation *op, const Lowering &lowering) {
  dist::DimSharding rows =
      dist::getSharding(op->getOperand(0).getType()).dims[2];
  auto offset = op->getAttrOfType<dist::DimsAttr>("causal_offset");
  return rows.lowerBound(lowering.mesh) +
         (offset ? offset.getValues().front() : dist::DimExpr(int64_t(0)));
}

/// The mask is broadcast to the scores' dims [b, h, s, t].
static LogicalResult lowerAttention(Operation *op, Lowering &lowering) {
  constexpr unsigned kMask = onnx::AttentionOperand::Mask,
                     kSinks = onnx::AttentionOperand::Sinks;
  SmallVector<ValueView, 4> inputs = viewsOf(op->getOperands(), lowering);
  bool hasPast =
      llvm::any_of(ArrayRef(inputs)
                       .slice(std::min<size_t>(kMask + 1, inputs.size()))
                       .take_front(kSinks - kMask - 1),
                   [](const ValueView &view) { return !view.isAbsent(); });
  if (op->getNumResults() > 1 || hasPast)
    return op->emitError("has more operands or results than query, key, value, "
                         "mask, sinks and output, which no kernel supports "
                         "yet");
  if (inputs.size() > kMask && !inputs[kMask].isAbsent())
    inputs[kMask].layout = inputs[kMask].layout.broadcast(
        {inputs[0].layout.dims[0], inputs[0].layout.dims[1],
         inputs[0].layout.dims[2], inputs[1].layout.dims[2]});
  if (inputs.size() > kSinks)
    inputs.erase(inputs.begin() + kMask + 1, inputs.begin() + kSinks);
  Lowering::Config config = Lowering::attributes(
      op, {"scale", "is_causal", "softcap", "window", "zero_rows"});
  if (op->getAttrOfType<IntegerAttr>("is_causal").getInt() != 0)
    config.push_back(
        lowering.scalars("causal_offset", causalOffset(op, lowering)));
  lowering.call(op, "Attention", inputs,
                {lowering.allocate(op, op->getResult(0))}, config);
  return success();
}

static LogicalResult lowerRotaryEmbedding(Operation *op, Lowering &lowering) {
  SmallVector<ValueView, 4> inputs = viewsOf(op->getOperands(), lowering);
  if (inputs.size() > 3)
    return op->emitError("still has position_ids: shape inference gathers the "
                         "caches first");
  // cos and sin may be shared by all of the batch.
  for (unsigned i : {1, 2})
    inputs[i].layout = inputs[i].layout.broadcast(
        {inputs[0].layout.dims[0], inputs[0].layout.dims[2],
         inputs[i].layout.dims.back()});
  lowering.call(op, "RotaryEmbedding", inputs,
                {lowering.allocate(op, op->getResult(0))},
                Lowering::attributes(op, {"interleaved"}));
  return success();
}

void addContractionLowerings(LoweringMap &map) {
  map["onnx.MatMul"] = lowerMatMul;
  map["onnx.Gemm"] = lowerGemm;
  map["onnx.Conv"] = lowerConv;
  map["onnx.Attention"] = lowerAttention;
  map["onnx.RotaryEmbedding"] = lowerRotaryEmbedding;
}

} // namespace shardc::lower
