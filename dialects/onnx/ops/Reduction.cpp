//===- Reduction.cpp - Shape functions and sharding rules ------------------------===//

#include "dialects/onnx/ops/Reduction.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/onnx/ops/Reduction.cpp.inc"

namespace shardc::onnx {

void OnnxDialect::registerReductionOps() {
  addOperations<
#define GET_OP_LIST
#include "dialects/onnx/ops/Reduction.cpp.inc"
      >();
}

} // namespace shardc::onnx
