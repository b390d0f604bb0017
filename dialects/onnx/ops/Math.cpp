//===- Math.cpp - Shape functions and sharding rules ----------------------===//

#include "dialects/onnx/ops/Math.h"

#include "dialects/onnx/Folding.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/onnx/ops/Math.cpp.inc"

namespace shardc::onnx {

void OnnxDialect::registerMathOps() {
  addOperations<
#define GET_OP_LIST
#include "dialects/onnx/ops/Math.cpp.inc"
      >();
}

LogicalResult NegOp::inferTypes(ShapeInference &inference) {
  return inferUnary(*this, inference, fold::neg);
}

ShardingRule NegOp::shardingRule() { return elementwiseRule(*this); }

PartialRule NegOp::partialRule() { return PartialRule::Linear; }

} // namespace shardc::onnx
