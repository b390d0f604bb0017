//===- Layout.cpp - Shape functions and sharding rules ------------------------===//

#include "dialects/onnx/ops/Layout.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/onnx/ops/Layout.cpp.inc"

namespace shardc::onnx {

void OnnxDialect::registerLayoutOps() {
  addOperations<
#define GET_OP_LIST
#include "dialects/onnx/ops/Layout.cpp.inc"
      >();
}

} // namespace shardc::onnx
