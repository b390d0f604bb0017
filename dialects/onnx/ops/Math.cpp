//===- Math.cpp - Shape functions and sharding rules ------------------------===//

#include "dialects/onnx/ops/Math.h"

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

} // namespace shardc::onnx
