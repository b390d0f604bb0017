//===- Dynamic.cpp - Lowering of sizes that only the data knows -----------===//

#include "dialects/onnx/ops/Dynamic.h"

#include "passes/lower/Lowering.h"

using namespace mlir;

namespace shardc::lower {

static LogicalResult lowerReadSizes(Operation *op, Lowering &lowering) {
  auto read = cast<onnx::ReadSizesOp>(op);
  lowering.readSizes(op, lowering.view(read.getData()), read.getSizes());
  lowering.bindSymbols(read.getSizes().getValues());
  return success();
}

static LogicalResult lowerNonZero(Operation *op, Lowering &lowering) {
  ValueView data = lowering.view(op->getOperand(0));
  lowering.call(op, "NonZero", {data},
                {lowering.allocate(op, op->getResult(0))});
  return success();
}

void addDynamicLowerings(LoweringMap &map) {
  map["onnx.ReadSizes"] = lowerReadSizes;
  map["onnx.NonZero"] = lowerNonZero;
}

} // namespace shardc::lower
