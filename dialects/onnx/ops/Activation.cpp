//===- Activation.cpp - Shape functions and sharding rules ------------------------===//

#include "dialects/onnx/ops/Activation.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/onnx/ops/Activation.cpp.inc"

namespace shardc::onnx {

void OnnxDialect::registerActivationOps() {
  addOperations<
#define GET_OP_LIST
#include "dialects/onnx/ops/Activation.cpp.inc"
      >();
}

} // namespace shardc::onnx
