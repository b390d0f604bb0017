//===- Indexing.cpp - Lowering of gathers, scatters, TopK, caches ---------===//

#include "dialects/onnx/ops/Indexing.h"

#include "passes/lower/Lowering.h"

using namespace mlir;

namespace shardc::onnx {

using namespace lower;

static int64_t axisOf(Operation *op, size_t rank) {
  int64_t axis = op->getAttrOfType<IntegerAttr>("axis").getInt();
  return axis < 0 ? axis + rank : axis;
}

/// A table whose rows are split: this rank holds `lookup` = [first row, rows in
/// all]; rows of others come out as zeros.
LogicalResult GatherOp::lower(Lowering &lowering) {
  Operation *op = getOperation();
  ValueView data = lowering.view(op->getOperand(0));
  int64_t axis = axisOf(op, data.layout.dims.size());
  Lowering::Config config{lowering.ints("axis", axis)};
  const dist::DimSharding rows =
      dist::getSharding(op->getOperand(0).getType()).dims[axis];
  if (rows.isSplit()) {
    if (!rows.isOneRange())
      return op->emitError("needs each rank's rows in one piece, found ")
             << dist::getSharding(op->getOperand(0).getType()).str();
    config.push_back(lowering.scalars(
        "lookup", {rows.lowerBound(lowering.mesh), rows.size()}));
  }
  lowering.call(op, "Gather", {data, lowering.view(op->getOperand(1))},
                {lowering.allocate(op, op->getResult(0))}, config);
  return success();
}

/// Operands and results as they are, `axis` without sign.
LogicalResult lowerIndexing(Operation *op, Lowering &lowering) {
  SmallVector<ValueView, 3> inputs, outputs;
  for (Value operand : op->getOperands())
    inputs.push_back(lowering.view(operand));
  for (Value result : op->getResults())
    outputs.push_back(lowering.allocate(op, result));
  Lowering::Config config = Lowering::attributes(
      op, {"batch_dims", "reduction", "largest", "sorted", "upper"});
  if (op->hasAttr("axis"))
    config.push_back(
        lowering.ints("axis", axisOf(op, inputs[0].layout.dims.size())));
  if (auto bounds = op->getAttrOfType<dist::DimsAttr>("bounds"))
    config.push_back(lowering.scalars("k", bounds.getValues()));
  lowering.call(op, op->getName().stripDialect(), inputs, outputs, config);
  return success();
}

} // namespace shardc::onnx
