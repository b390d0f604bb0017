//===- Attention.cpp - Shape functions and sharding rules ------------------------===//

#include "dialects/onnx/ops/Attention.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/onnx/ops/Attention.cpp.inc"

namespace shardc::onnx {

void OnnxDialect::registerAttentionOps() {
  addOperations<
#define GET_OP_LIST
#include "dialects/onnx/ops/Attention.cpp.inc"
      >();
}

} // namespace shardc::onnx
