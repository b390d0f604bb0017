//===- Indexing.cpp - Shape functions and sharding rules ------------------------===//

#include "dialects/onnx/ops/Indexing.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/onnx/ops/Indexing.cpp.inc"

namespace shardc::onnx {

void OnnxDialect::registerIndexingOps() {
  addOperations<
#define GET_OP_LIST
#include "dialects/onnx/ops/Indexing.cpp.inc"
      >();
}

} // namespace shardc::onnx
