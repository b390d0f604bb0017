//===- SpecializeSteps.cpp - A function for one position at a time --------===//
//
// What a run appends to its caches is the sequence that it was given. Where its
// length is one symbol of the inputs, a step of decoding is a run in which that
// symbol is 1. Both functions compute the same, for any length: only how they
// are split differs later, so choosing the other one would cost time, not be
// wrong.
//
//===----------------------------------------------------------------------===//

#include "passes/import/Passes.h"

#include "dialects/dist/Dist.h"
#include "dialects/onnx/FunctionInfo.h"
#include "dialects/onnx/Onnx.h"
#include "dialects/onnx/Profiles.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace shardc::import {

#define GEN_PASS_DEF_SPECIALIZESTEPS
#include "passes/import/Passes.h.inc"

using dist::DimExpr;

namespace {

/// How much longer every cache gets, if that is the same for all.
std::optional<DimExpr> growth(func::FuncOp function) {
  std::optional<DimExpr> common;
  for (const onnx::CacheInfo &cache : onnx::FunctionInfo(function).caches()) {
    if (cache.kind != "append")
      continue;
    Type past = function.getArgumentTypes()[cache.input];
    Type present = function.getResultTypes()[cache.output];
    const DimExpr here =
        dist::getDims(present)[*cache.dim] - dist::getDims(past)[*cache.dim];
    if (common && *common != here)
      return std::nullopt;
    common = here;
  }
  return common;
}

struct SpecializeSteps : impl::SpecializeStepsBase<SpecializeSteps> {
  void runOnOperation() override {
    for (auto function :
         llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (std::optional<DimExpr> length = growth(function))
        if (auto input = length->asSymbol()
                             ? onnx::inputWithSize(function, *length)
                             : std::nullopt)
          split(function, input->first, input->second);
  }

private:
  /// The step first: the runtime takes the first profile that a request fits.
  void split(func::FuncOp function, StringAttr input, int64_t dim) {
    OpBuilder builder(function);
    auto step = cast<func::FuncOp>(builder.clone(*function));
    onnx::addCondition(step, input, onnx::sizeCondition(&getContext(), dim, 1));
    name(step, onnx::kDecode);
    name(function, onnx::kPrefill);
    ++numSteps;
  }

  static void name(func::FuncOp function, StringRef profile) {
    function.setSymName((function.getSymName() + "_" + profile).str());
    onnx::FunctionInfo(function).setProfile(profile);
  }
};

} // namespace
} // namespace shardc::import
