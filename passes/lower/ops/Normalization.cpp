//===- Normalization.cpp - Lowering of softmax and norms ------------------===//

#include "passes/lower/Lowering.h"

using namespace mlir;

namespace shardc::onnx {

using namespace lower;

LogicalResult lowerNormalization(Operation *op, Lowering &lowering) {
  auto axis = op->getAttrOfType<IntegerAttr>("axis");
  Sizes dims = lowering.view(op->getOperand(0)).layout.dims;
  int64_t first =
      axis.getInt() < 0 ? axis.getInt() + dims.size() : axis.getInt();
  SmallVector<ValueView, 3> inputs;
  for (OpOperand &operand : op->getOpOperands()) {
    ValueView view = operand.getOperandNumber() == 0
                         ? lowering.summands(op, operand.get())
                         : lowering.view(operand.get());
    // Scale and bias have the dims that are normalised.
    if (operand.getOperandNumber() > 0 && !view.isAbsent())
      view.layout =
          view.layout.broadcast(Sizes(dims.begin() + first, dims.end()));
    inputs.push_back(view);
  }
  SmallVector<ValueView, 3> outputs;
  for (Value result : op->getResults())
    outputs.push_back(lowering.allocate(op, result));
  Lowering::Config config = Lowering::attributes(op, {"epsilon"});
  config.push_back(lowering.ints("axis", first));
  lowering.call(op, op->getName().stripDialect(), inputs, outputs, config);
  return success();
}

} // namespace shardc::onnx
