//===- Arithmetic.cpp - Shape functions and sharding rules ------------------------===//

#include "dialects/onnx/ops/Arithmetic.h"

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

} // namespace shardc::onnx
