//===- Elementwise.cpp - Lowering of element by element ops ---------------===//

#include "dialects/onnx/ops/Layout.h"

#include "passes/lower/Lowering.h"

using namespace mlir;

namespace shardc::onnx {

using namespace lower;

/// Kernels see operands with the result's dims; what is broadcast has stride 0.
LogicalResult lowerElementwise(Operation *op, Lowering &lowering) {
  SmallVector<ValueView, 3> inputs;
  Sizes dims = Lowering::localDims(op->getResult(0));
  for (Value operand : op->getOperands()) {
    ValueView view = lowering.view(operand);
    inputs.push_back(view.isAbsent() ? view
                                     : view.with(view.layout.broadcast(dims)));
  }
  ValueView result = lowering.allocate(op, op->getResult(0));
  lowering.call(op, op->getName().stripDialect(), inputs, {result},
                Lowering::attributes(op, {"alpha", "beta", "approximate",
                                          "fmod", "detect_negative",
                                          "detect_positive", "direction"}));
  return success();
}

/// How a number is rounded matters to types of eight bits alone.
LogicalResult CastOp::lower(Lowering &lowering) {
  Operation *op = getOperation();
  ValueView input = lowering.view(op->getOperand(0));
  ValueView result = lowering.allocate(op, op->getResult(0));
  bool isFloat8 = isa<FloatType>(result.element) &&
                  result.element.getIntOrFloatBitWidth() == 8;
  lowering.call(op, "Cast", {input}, {result},
                isFloat8 ? Lowering::attributes(op, {"saturate", "round_mode"})
                         : Lowering::Config());
  return success();
}

} // namespace shardc::onnx
