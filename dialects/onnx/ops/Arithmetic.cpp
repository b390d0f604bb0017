//===- Arithmetic.cpp - Shape functions and sharding rules ----------------===//

#include "dialects/onnx/ops/Arithmetic.h"

#include "dialects/onnx/Folding.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/onnx/ops/Arithmetic.cpp.inc"

namespace shardc::onnx {

void OnnxDialect::registerArithmeticOps() {
  addOperations<
#define GET_OP_LIST
#include "dialects/onnx/ops/Arithmetic.cpp.inc"
      >();
}

PartialRule AddOp::partialRule() { return PartialRule::Additive; }
PartialRule SubOp::partialRule() { return PartialRule::Additive; }
PartialRule MulOp::partialRule() { return PartialRule::Multilinear; }

PartialRule DivOp::partialRule() {
  // Integers are rounded after the division.
  auto type = cast<ShapedType>(getResult().getType());
  return isa<FloatType>(type.getElementType()) ? PartialRule::Linear
                                               : PartialRule::None;
}

/// a op b op c = (a op b) op c.
template <typename ChainOp, typename PairOp>
static LogicalResult inferChain(ChainOp op, ShapeInference &inference,
                                BinaryFold fold) {
  if (op.getInputs().empty())
    return op.emitOpError("has no operands, expected at least 1");
  if (op->getNumOperands() == 2 && std::is_same_v<ChainOp, PairOp>)
    return inferBinary(op, inference, fold);
  Value result = op.getInputs().front();
  for (Value next : op.getInputs().drop_front()) {
    auto pair = inference.create<PairOp>(op, {result, next});
    if (!pair)
      return failure();
    result = pair.getResult();
  }
  inference.replace(op, result);
  return success();
}

LogicalResult MinOp::inferTypes(ShapeInference &inference) {
  return inferChain<MinOp, MinOp>(*this, inference, fold::min);
}

LogicalResult MaxOp::inferTypes(ShapeInference &inference) {
  return inferChain<MaxOp, MaxOp>(*this, inference, fold::max);
}

LogicalResult SumOp::inferTypes(ShapeInference &inference) {
  return inferChain<SumOp, AddOp>(*this, inference, nullptr);
}

} // namespace shardc::onnx
