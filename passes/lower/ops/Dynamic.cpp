//===- Dynamic.cpp - Lowering of sizes that only the data knows -----------===//

#include "dialects/onnx/ops/Dynamic.h"

#include "passes/lower/Lowering.h"

using namespace mlir;

namespace shardc::onnx {

using namespace lower;

LogicalResult ReadSizesOp::lower(Lowering &lowering) {
  Operation *op = getOperation();
  lowering.readSizes(op, lowering.view(getData()), getSizes());
  lowering.bindSymbols(getSizes().getValues());
  return success();
}

LogicalResult NonZeroOp::lower(Lowering &lowering) {
  Operation *op = getOperation();
  ValueView data = lowering.view(op->getOperand(0));
  lowering.call(op, "NonZero", {data},
                {lowering.allocate(op, op->getResult(0))});
  return success();
}

} // namespace shardc::onnx
