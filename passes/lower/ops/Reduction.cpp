//===- Reduction.cpp - Lowering of reductions -----------------------------===//

#include "passes/lower/Lowering.h"

using namespace mlir;

namespace shardc::onnx {

using namespace lower;

/// Kernels write dims of size 1 where they reduce; the result's own dims may
/// lack them, which is the same bytes.
static ValueView keepDims(const ValueView &result, ArrayRef<int64_t> axes,
                          const Sizes &from) {
  Sizes dims = from;
  for (int64_t axis : axes)
    dims[axis] = 1;
  return result.with(StridedLayout::contiguous(dims));
}

LogicalResult lowerReduction(Operation *op, Lowering &lowering) {
  auto axes = op->getAttrOfType<DenseI64ArrayAttr>("axes");
  if (!axes)
    return op->emitError("has axes that only the data knows, which no kernel "
                         "supports yet");
  ValueView input = lowering.summands(op, op->getOperand(0));
  ValueView result = lowering.allocate(op, op->getResult(0));
  Lowering::Config config = lowering.order(op);
  config.push_back(lowering.ints("axes", axes.asArrayRef()));
  // A mean divides the local sum by the global count.
  Sizes global = dist::getDims(op->getOperand(0).getType());
  dist::DimExpr count = 1;
  for (int64_t axis : axes.asArrayRef())
    count = count * global[axis];
  config.push_back(lowering.scalars("count", count));
  lowering.call(op, op->getName().stripDialect(), {input},
                {keepDims(result, axes.asArrayRef(), input.layout.dims)},
                config);
  return success();
}

LogicalResult lowerArgument(Operation *op, Lowering &lowering) {
  ValueView input = lowering.view(op->getOperand(0));
  ValueView result = lowering.allocate(op, op->getResult(0));
  int64_t axis = op->getAttrOfType<IntegerAttr>("axis").getInt();
  axis = axis < 0 ? axis + input.layout.dims.size() : axis;
  Lowering::Config config = Lowering::attributes(op, {"select_last_index"});
  config.push_back(lowering.ints("axis", axis));
  lowering.call(op, op->getName().stripDialect(), {input},
                {keepDims(result, axis, input.layout.dims)}, config);
  return success();
}

LogicalResult lowerScan(Operation *op, Lowering &lowering) {
  lowering.call(op, op->getName().stripDialect(),
                {lowering.view(op->getOperand(0))},
                {lowering.allocate(op, op->getResult(0))},
                Lowering::attributes(op, {"axis", "exclusive", "reverse"}));
  return success();
}

} // namespace shardc::onnx
