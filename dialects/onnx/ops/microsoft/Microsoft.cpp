//===- Microsoft.cpp - Operators of the domain com.microsoft --------------===//

#include "dialects/onnx/ops/microsoft/Microsoft.h"

#include "dialects/onnx/ops/microsoft/Activation.h"
#include "dialects/onnx/ops/microsoft/Attention.h"
#include "dialects/onnx/ops/microsoft/Experts.h"
#include "dialects/onnx/ops/microsoft/Layout.h"
#include "dialects/onnx/ops/microsoft/Normalization.h"
#include "dialects/onnx/ops/microsoft/Product.h"
#include "dialects/onnx/ops/microsoft/QLinear.h"
#include "dialects/onnx/ops/microsoft/Quantization.h"

#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace shardc::onnx {

namespace {

template <typename... Ops> struct OpList {};

using MicrosoftOps = OpList<
#define GET_OP_LIST
#include "dialects/onnx/ops/microsoft/Activation.cpp.inc"
    ,
#define GET_OP_LIST
#include "dialects/onnx/ops/microsoft/Attention.cpp.inc"
    ,
#define GET_OP_LIST
#include "dialects/onnx/ops/microsoft/Experts.cpp.inc"
    ,
#define GET_OP_LIST
#include "dialects/onnx/ops/microsoft/Layout.cpp.inc"
    ,
#define GET_OP_LIST
#include "dialects/onnx/ops/microsoft/Product.cpp.inc"
    ,
#define GET_OP_LIST
#include "dialects/onnx/ops/microsoft/QLinear.cpp.inc"
    ,
#define GET_OP_LIST
#include "dialects/onnx/ops/microsoft/Quantization.cpp.inc"
    ,
#define GET_OP_LIST
#include "dialects/onnx/ops/microsoft/Normalization.cpp.inc"
    >;

template <typename OpTy> unsigned mostOperandsOf() {
  if constexpr (std::is_same_v<OpTy, SimplifiedLayerNormalizationOp>)
    return 2; // stands in ONNX's own domain
  else
    return OpTy::mostOperands();
}

template <typename... Ops>
llvm::StringMap<unsigned> limitsOf(OpList<Ops...> /*ops*/) {
  llvm::StringMap<unsigned> limits;
  ((limits[Ops::getOperationName()] = mostOperandsOf<Ops>()), ...);
  return limits;
}

} // namespace

static const llvm::StringMap<unsigned> &allLimits() {
  static const llvm::StringMap<unsigned> limits = limitsOf(MicrosoftOps());
  return limits;
}

unsigned mostOperands(StringRef opName) {
  auto limit = allLimits().find(opName);
  return limit == allLimits().end() ? ~0u : limit->second;
}

bool isMicrosoft(StringRef opName) { return allLimits().contains(opName); }

template <typename... Ops>
static void addAll(OnnxDialect &dialect, OpList<Ops...> /*ops*/) {
  (RegisteredOperationName::insert<Ops>(dialect), ...);
}

void OnnxDialect::registerMicrosoftOps() { addAll(*this, MicrosoftOps()); }

} // namespace shardc::onnx
