//===- Contraction.cpp - Shape functions and sharding rules ------------------------===//

#include "dialects/onnx/ops/Contraction.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/onnx/ops/Contraction.cpp.inc"

namespace shardc::onnx {

void OnnxDialect::registerContractionOps() {
  addOperations<
#define GET_OP_LIST
#include "dialects/onnx/ops/Contraction.cpp.inc"
      >();
}

} // namespace shardc::onnx
