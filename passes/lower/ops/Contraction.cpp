//===- Contraction.cpp - Lowering of products, convolution, rotation ------===//

#include "dialects/onnx/ops/Contraction.h"

#include "dialects/onnx/ops/Attention.h"
#include "passes/lower/Lowering.h"
#include "passes/lower/ops/Quantization.h"

using namespace mlir;

namespace shardc::onnx {

using namespace lower;

/// The kernel of a product that may round its operands.
static StringRef roundedOr(StringRef kernel,
                           std::optional<uint64_t> operandBits) {
  return operandBits ? "MatMulBFloat16" : kernel;
}

/// Batch dims of both operands are broadcast to the result's.
LogicalResult MatMulOp::lower(Lowering &lowering) {
  Operation *op = getOperation();
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
  lowering.call(op, roundedOr("MatMul", getOperandBits()), {lhs, rhs},
                {lowering.allocate(op, op->getResult(0))}, lowering.order(op));
  return success();
}

LogicalResult GemmOp::lower(Lowering &lowering) {
  Operation *op = getOperation();
  ValueView lhs = lowering.view(getLhs()), rhs = lowering.view(getRhs());
  if (getTransA())
    lhs.layout = lhs.layout.transposed({1, 0});
  if (getTransB())
    rhs.layout = rhs.layout.transposed({1, 0});
  SmallVector<ValueView, 3> inputs{lhs, rhs};
  if (!getAddend().empty()) {
    ValueView addend = lowering.view(getAddend().front());
    if (!addend.isAbsent())
      addend.layout =
          addend.layout.broadcast(Lowering::localDims(op->getResult(0)));
    inputs.push_back(addend);
  }
  lowering.call(op, roundedOr("Gemm", getOperandBits()), inputs,
                {lowering.allocate(op, op->getResult(0))},
                lowering.order(op, {"alpha", "beta"}));
  return success();
}

static SmallVector<ValueView, 4> viewsOf(ValueRange values,
                                         Lowering &lowering) {
  SmallVector<ValueView, 4> views;
  for (Value value : values)
    views.push_back(lowering.view(value));
  return views;
}

LogicalResult ConvOp::lower(Lowering &lowering) {
  Operation *op = getOperation();
  lowering.call(op, "Conv", viewsOf(op->getOperands(), lowering),
                {lowering.allocate(op, op->getResult(0))},
                lowering.order(op, {"strides", "pads", "dilations", "group"}));
  return success();
}

LogicalResult RotaryEmbeddingOp::lower(Lowering &lowering) {
  Operation *op = getOperation();
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

} // namespace shardc::onnx
