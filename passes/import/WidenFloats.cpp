//===- WidenFloats.cpp - The same model in double precision ---------------===//

#include "passes/import/Passes.h"

#include "dialects/onnx/ops/Layout.h"
#include "dialects/onnx/ops/Source.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace shardc::import {

#define GEN_PASS_DEF_WIDENFLOATS
#include "passes/import/Passes.h.inc"

namespace {

/// Eight bits of float are quantised data, not what is computed in.
bool isNarrow(Type element) {
  return element.isF32() || element.isF16() || element.isBF16();
}

/// The type with f64 elements if its elements are narrower floats; else null.
RankedTensorType widened(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !isNarrow(tensor.getElementType()))
    return {};
  return RankedTensorType::get(tensor.getShape(),
                               Float64Type::get(type.getContext()),
                               tensor.getEncoding());
}

void widen(Value value) {
  if (RankedTensorType type = widened(value.getType()))
    value.setType(type);
}

/// Files keep what they hold: a weight is cast when it is loaded.
void widenWeight(onnx::WeightOp weight) {
  RankedTensorType type = widened(weight.getType());
  if (!type)
    return;
  OpBuilder builder(weight->getContext());
  builder.setInsertionPointAfter(weight);
  auto cast = onnx::CastOp::create(builder, weight.getLoc(), type,
                                   weight.getResult(), IntegerAttr());
  weight.getResult().replaceAllUsesExcept(cast.getResult(), cast);
}

void widenConstant(onnx::ConstantOp constant) {
  RankedTensorType type = widened(constant.getType());
  auto value = dyn_cast<DenseFPElementsAttr>(constant.getValue());
  if (!type || !value)
    return;
  Type element = type.getElementType();
  constant.setValueAttr(value.mapValues(element, [](const APFloat &number) {
    APFloat wide = number;
    bool isInexact;
    wide.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                 &isInexact);
    return wide.bitcastToAPInt();
  }));
  constant.getResult().setType(type);
}

struct WidenFloats : impl::WidenFloatsBase<WidenFloats> {
  void runOnOperation() override {
    for (func::FuncOp function : getOperation().getOps<func::FuncOp>()) {
      SmallVector<onnx::WeightOp> weights;
      SmallVector<onnx::CastOp> casts;
      function.walk([&](Operation *op) {
        for (mlir::Region &region : op->getRegions())
          for (Value argument : region.getArguments())
            widen(argument);
        if (auto weight = dyn_cast<onnx::WeightOp>(op))
          return weights.push_back(weight);
        if (auto constant = dyn_cast<onnx::ConstantOp>(op))
          return widenConstant(constant);
        if (auto cast = dyn_cast<onnx::CastOp>(op))
          casts.push_back(cast);
        for (Value result : op->getResults())
          widen(result);
      });
      for (onnx::WeightOp weight : weights)
        widenWeight(weight);
      dropCasts(casts);
      function.setFunctionType(FunctionType::get(
          &getContext(), function.front().getArgumentTypes(),
          function.front().getTerminator()->getOperandTypes()));
    }
  }

private:
  /// Those between types that are one type now.
  static void dropCasts(ArrayRef<onnx::CastOp> casts) {
    for (onnx::CastOp cast : casts) {
      if (cast.getInput().getType() != cast.getType())
        continue;
      cast.getResult().replaceAllUsesWith(cast.getInput());
      cast->erase();
    }
  }
};

} // namespace
} // namespace shardc::import
