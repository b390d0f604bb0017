//===- Normalization.cpp - Shape functions and sharding rules ------------------------===//

#include "dialects/onnx/ops/Normalization.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/onnx/ops/Normalization.cpp.inc"

namespace shardc::onnx {

void OnnxDialect::registerNormalizationOps() {
  addOperations<
#define GET_OP_LIST
#include "dialects/onnx/ops/Normalization.cpp.inc"
      >();
}

} // namespace shardc::onnx
