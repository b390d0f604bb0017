//===- Microsoft.cpp - Operators of the domain com.microsoft --------------===//

#include "dialects/onnx/ops/microsoft/Activation.h"
#include "dialects/onnx/ops/microsoft/Attention.h"
#include "dialects/onnx/ops/microsoft/Experts.h"
#include "dialects/onnx/ops/microsoft/Normalization.h"
#include "dialects/onnx/ops/microsoft/Product.h"
#include "dialects/onnx/ops/microsoft/QLinear.h"
#include "dialects/onnx/ops/microsoft/Quantization.h"

namespace shardc::onnx {

void OnnxDialect::registerMicrosoftOps() {
  addOperations<
#define GET_OP_LIST
#include "dialects/onnx/ops/microsoft/Activation.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/onnx/ops/microsoft/Attention.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/onnx/ops/microsoft/Experts.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/onnx/ops/microsoft/Normalization.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/onnx/ops/microsoft/Product.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/onnx/ops/microsoft/QLinear.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/onnx/ops/microsoft/Quantization.cpp.inc"
      >();
}

} // namespace shardc::onnx
