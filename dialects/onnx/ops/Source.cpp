//===- Source.cpp - Shape functions and sharding rules ------------------------===//

#include "dialects/onnx/ops/Source.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/onnx/ops/Source.cpp.inc"

namespace shardc::onnx {

void OnnxDialect::registerSourceOps() {
  addOperations<
#define GET_OP_LIST
#include "dialects/onnx/ops/Source.cpp.inc"
      >();
}

} // namespace shardc::onnx
