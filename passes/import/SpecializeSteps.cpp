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
  for (unsigned output = 0; output < function.getNumResults(); ++output) {
    auto cache =
        function.getResultAttrOfType<DictionaryAttr>(output, "onnx.cache");
    if (!cache || cache.getAs<StringAttr>("kind") != "append")
      continue;
    const int64_t dim = cache.getAs<IntegerAttr>("dim").getInt();
    Type past =
        function.getArgumentTypes()[cache.getAs<IntegerAttr>("input").getInt()];
    Type present = function.getResultTypes()[output];
    const DimExpr here = dist::getDims(present)[dim] - dist::getDims(past)[dim];
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
    function->setAttr(onnx::kProfileAttr,
                      StringAttr::get(function.getContext(), profile));
  }
};

} // namespace
} // namespace shardc::import
