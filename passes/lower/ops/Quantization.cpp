//===- Quantization.cpp - Lowering of quantised ops -----------------------===//

#include "dialects/onnx/ops/Quantization.h"

#include "passes/lower/Lowering.h"

using namespace mlir;

namespace shardc::lower {

using dist::DimExpr;

namespace {

/// A part of the blocked dim whose elements a rank finds by one rule.
struct BlockedPart {
  DimExpr localStart, localSize; ///< of this rank's dim
  Lowering::Config config;
};

} // namespace

/// Blocks count from the start of the whole dim, of which each segment gives
/// this rank a part.
static SmallVector<BlockedPart> blockedParts(const dist::DimSharding &dim,
                                             Lowering &lowering) {
  SmallVector<BlockedPart> parts;
  DimExpr base = 0, localStart = 0;
  for (const dist::Segment &segment : dim.segments) {
    Sizes starts, locals, globals;
    for (const dist::Factor &factor : segment.factors) {
      starts.push_back(factor.lowerBound(lowering.mesh));
      locals.push_back(factor.localSize(lowering.mesh));
      globals.push_back(factor.size);
    }
    DimExpr size = segment.localSize(lowering.mesh);
    parts.push_back(
        {localStart,
         size,
         {lowering.scalars("base", {base}), lowering.scalars("starts", starts),
          lowering.scalars("locals", locals),
          lowering.scalars("globals", globals)}});
    base = base + segment.size();
    localStart = localStart + size;
  }
  return parts;
}

/// Scales and zero points get the dims of the data, but along blocks.
static LogicalResult lowerScaled(Operation *op, Lowering &lowering,
                                 const ValueView &result) {
  int64_t axis = op->getAttrOfType<IntegerAttr>("axis").getInt();
  int64_t blockSize = op->getAttrOfType<IntegerAttr>("block_size").getInt();
  ValueView data = lowering.view(op->getOperand(0));
  SmallVector<ValueView, 3> inputs = {data};
  for (Value parameter : op->getOperands().drop_front()) {
    ValueView view = lowering.view(parameter);
    Sizes dims = data.layout.dims;
    if (blockSize != 0)
      dims[axis] = view.layout.dims[axis];
    inputs.push_back(view.with(view.layout.broadcast(dims)));
  }
  StringRef kernel = op->getName().stripDialect();
  dist::DimSharding dim;
  if (blockSize != 0)
    dim = dist::getSharding(op->getOperand(0).getType()).dims[axis];
  if (!dim.isSplit()) {
    Lowering::Config config;
    if (blockSize != 0)
      config = {lowering.ints("axis", axis),
                lowering.ints("block_size", blockSize)};
    lowering.call(op, kernel, inputs, {result}, config);
    return success();
  }
  for (BlockedPart &part : blockedParts(dim, lowering)) {
    auto cut = [&](const ValueView &view) {
      return view.with(
          view.layout.sliced(axis, part.localStart, part.localSize));
    };
    part.config.push_back(lowering.ints("axis", axis));
    part.config.push_back(lowering.ints("block_size", blockSize));
    inputs[0] = cut(data);
    lowering.call(op, kernel, inputs, {cut(result)}, part.config);
  }
  return success();
}

static LogicalResult lowerQuantizeLinear(Operation *op, Lowering &lowering) {
  return lowerScaled(op, lowering, lowering.allocate(op, op->getResult(0)));
}

/// Weights stay as small as they are: their numbers exist while they are used,
/// but for vectors.
static LogicalResult lowerDequantizeLinear(Operation *op, Lowering &lowering) {
  Value result = op->getResult(0);
  bool isVector = Lowering::localDims(result).size() <= 1;
  return lowerScaled(op, lowering,
                     isVector ? lowering.allocate(op, result)
                              : lowering.allocateAtRun(op, result));
}

/// Batch dims of all operands are broadcast to the result's.
static LogicalResult lowerMatMulInteger(Operation *op, Lowering &lowering) {
  ValueView result = lowering.allocate(op, op->getResult(0));
  auto withDims = [&](Value operand, DimExpr rows, DimExpr columns) {
    ValueView view = lowering.view(operand);
    if (view.isAbsent())
      return view;
    Sizes dims = result.layout.dims;
    dims.end()[-2] = rows;
    dims.end()[-1] = columns;
    return view.with(view.layout.broadcast(dims));
  };
  DimExpr rows = result.layout.dims.end()[-2];
  DimExpr columns = result.layout.dims.back();
  DimExpr sum = lowering.view(op->getOperand(0)).layout.dims.back();
  SmallVector<std::pair<DimExpr, DimExpr>, 4> dims = {
      {rows, sum}, {sum, columns}, {rows, 1}, {1, columns}};
  SmallVector<ValueView, 4> inputs;
  for (auto [operand, size] : llvm::zip(op->getOperands(), dims))
    inputs.push_back(withDims(operand, size.first, size.second));
  lowering.call(op, "MatMulInteger", inputs, {result});
  return success();
}

void addQuantizationLowerings(LoweringMap &map) {
  map["onnx.QuantizeLinear"] = lowerQuantizeLinear;
  map["onnx.DequantizeLinear"] = lowerDequantizeLinear;
  map["onnx.MatMulInteger"] = lowerMatMulInteger;
}

} // namespace shardc::lower
