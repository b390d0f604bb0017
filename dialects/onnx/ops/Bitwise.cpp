//===- Bitwise.cpp - Shape functions and sharding rules -------------------===//

#include "dialects/onnx/ops/Bitwise.h"

#include "dialects/onnx/ElementTypes.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/onnx/ops/Bitwise.cpp.inc"

namespace shardc::onnx {

void OnnxDialect::registerBitwiseOps() {
  addOperations<
#define GET_OP_LIST
#include "dialects/onnx/ops/Bitwise.cpp.inc"
      >();
}

LogicalResult BitCastOp::inferTypes(ShapeInference &inference) {
  Type from = inference.element(getInput());
  Type to = getTo() ? elementTypeOf(*getTo(), getContext())
                    : inference.element(getResult());
  auto bytes = [](Type type) { return (type.getIntOrFloatBitWidth() + 7) / 8; };
  if (!to || !isStored(to) || bytes(from) != bytes(to))
    return emitOpError("of ")
           << from << " to ONNX's type number " << getTo().value_or(0)
           << ", expected one of the same size";
  if (from == to) {
    inference.replace(*this, getInput());
    return success();
  }
  removeToAttr();
  inference.setType(getResult(), to, inference.dims(getInput()));
  return success();
}

ShardingRule BitCastOp::shardingRule() { return elementwiseRule(*this); }

} // namespace shardc::onnx
