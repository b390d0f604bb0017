//===- Logic.cpp - Shape functions and sharding rules ------------------------===//

#include "dialects/onnx/ops/Logic.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/onnx/ops/Logic.cpp.inc"

namespace shardc::onnx {

void OnnxDialect::registerLogicOps() {
  addOperations<
#define GET_OP_LIST
#include "dialects/onnx/ops/Logic.cpp.inc"
      >();
}

} // namespace shardc::onnx
