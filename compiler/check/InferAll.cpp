//===- InferAll.cpp - Every error of shape inference ----------------------===//

#include "compiler/check/Findings.h"
#include "dialects/onnx/FunctionInfo.h"

#include "dialects/onnx/Onnx.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;

namespace shardc::check {

void inferAll(ModuleOp module) {
  const int64_t opset = *onnx::modelInfo(module).opset;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isExternal())
      continue;
    OpBuilder builder(function.getContext());
    onnx::ShapeInference inference(builder, opset);
    // What an error leaves without type is of that error alone.
    auto hasNoType = [](Value operand) {
      return isa<UnrankedTensorType>(operand.getType());
    };
    for (Operation &op : llvm::make_early_inc_range(function.front())) {
      llvm::SetVector<Value> used(op.operand_begin(), op.operand_end());
      getUsedValuesDefinedAbove(op.getRegions(), used);
      if (llvm::none_of(used, hasNoType))
        (void)inference.inferOps({&op});
    }
  }
}

} // namespace shardc::check
