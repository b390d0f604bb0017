//===- Onnx.cpp - The onnx dialect: what is computed ----------------------===//

#include "dialects/onnx/Onnx.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

#include "dialects/onnx/OnnxDialect.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/onnx/OnnxTypes.cpp.inc"

#include "dialects/onnx/OnnxInterfaces.cpp.inc"

namespace shardc::onnx {

void OnnxDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/onnx/OnnxTypes.cpp.inc"
      >();
#define FAMILY(name) register##name##Ops();
#include "dialects/onnx/Families.inc"
#undef FAMILY
}

} // namespace shardc::onnx
