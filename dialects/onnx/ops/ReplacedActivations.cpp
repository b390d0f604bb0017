//===- ReplacedActivations.cpp - Functions that others are made of --------===//

#include "dialects/onnx/Decomposition.h"
#include "dialects/onnx/ops/Activation.h"
#include "dialects/onnx/ops/Arithmetic.h"
#include "dialects/onnx/ops/Logic.h"
#include "dialects/onnx/ops/Math.h"
#include "dialects/onnx/ops/Reduction.h"
#include "dialects/onnx/ops/Replaced.h"

using namespace mlir;

namespace shardc::onnx {

LogicalResult CeluOp::inferTypes(ShapeInference &inference) {
  Decomposition d(*this, inference);
  Value alpha = d.number(d.element(getInput()), getAlpha().convertToDouble());
  Value scaled = d.make<DivOp>({getInput(), alpha});
  return d.replaceBy({d.mul(d.make<EluOp>({scaled}), alpha)});
}

LogicalResult SeluOp::inferTypes(ShapeInference &inference) {
  Decomposition d(*this, inference);
  Value gamma = d.number(d.element(getInput()), getGamma().convertToDouble());
  Value elu = d.make<EluOp>({getInput()}, d.attribute("alpha", getAlpha()));
  return d.replaceBy({d.mul(elu, gamma)});
}

LogicalResult ThresholdedReluOp::inferTypes(ShapeInference &inference) {
  Decomposition d(*this, inference);
  auto number = [&](double value) {
    return d.number(d.element(getInput()), value);
  };
  Value isAbove =
      d.make<GreaterOp>({getInput(), number(getAlpha().convertToDouble())});
  return d.replaceBy({d.make<WhereOp>({isAbove, getInput(), number(0)})});
}

LogicalResult ReduceLogSumOp::inferTypes(ShapeInference &inference) {
  Decomposition d(*this, inference);
  SmallVector<Value, 2> operands = {getData()};
  if (Value axes = d.operand(1))
    operands.push_back(axes);
  return d.replaceBy(
      {d.make<LogOp>({d.make<ReduceSumOp>(operands, (*this)->getAttrs())})});
}

} // namespace shardc::onnx
