//===- Image.cpp - Lowering of borders and windows ------------------------===//

#include "dialects/onnx/ops/Padding.h"
#include "dialects/onnx/ops/Resampling.h"

#include "passes/lower/Lowering.h"

using namespace mlir;

namespace shardc::onnx {

using namespace lower;

LogicalResult PadOp::lower(Lowering &lowering) {
  Operation *op = getOperation();
  SmallVector<ValueView, 2> inputs;
  for (Value operand : op->getOperands())
    inputs.push_back(lowering.view(operand));
  Lowering::Config config = Lowering::attributes(op, {"mode"});
  config.push_back(lowering.scalars(
      "pads", op->getAttrOfType<dist::DimsAttr>("bounds").getValues()));
  lowering.call(op, "Pad", inputs, {lowering.allocate(op, op->getResult(0))},
                config);
  return success();
}

LogicalResult lowerPool(Operation *op, Lowering &lowering) {
  SmallVector<ValueView, 2> outputs;
  for (Value result : op->getResults())
    outputs.push_back(lowering.allocate(op, result));
  lowering.call(
      op, op->getName().stripDialect(), {lowering.view(op->getOperand(0))},
      outputs,
      Lowering::attributes(op, {"kernel_shape", "strides", "dilations", "pads",
                                "count_include_pad", "p", "storage_order"}));
  return success();
}

LogicalResult GridSampleOp::lower(Lowering &lowering) {
  Operation *op = getOperation();
  lowering.call(
      op, "GridSample",
      {lowering.view(op->getOperand(0)), lowering.view(op->getOperand(1))},
      {lowering.allocate(op, op->getResult(0))},
      Lowering::attributes(op, {"align_corners", "mode", "padding_mode"}));
  return success();
}

} // namespace shardc::onnx
