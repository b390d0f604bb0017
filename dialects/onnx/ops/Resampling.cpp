//===- Resampling.cpp - Shape functions and sharding rules ----------------===//

#include "dialects/onnx/ops/Resampling.h"

#include "dialects/onnx/Decomposition.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/onnx/ops/Resampling.cpp.inc"

namespace shardc::onnx {

using dist::DimExpr;

void OnnxDialect::registerResamplingOps() {
  addOperations<
#define GET_OP_LIST
#include "dialects/onnx/ops/Resampling.cpp.inc"
      >();
}

LogicalResult UpsampleOp::inferTypes(ShapeInference &inference) {
  Decomposition build(*this, inference);
  Value scales = build.operand(1);
  if (std::optional<ArrayAttr> given = getScales()) {
    SmallVector<double> values;
    for (FloatAttr scale : given->getAsRange<FloatAttr>())
      values.push_back(scale.getValueAsDouble());
    scales = build.constant(build.f32(), {int64_t(values.size())}, values);
  }
  if (!scales)
    return emitOpError("has no scales");
  return build.replaceBy(build.make<ResizeOp>(
      {getInput(), scales}, {build.attribute("mode", getMode())}));
}

//===----------------------------------------------------------------------===//
// GridSample
//===----------------------------------------------------------------------===//

LogicalResult GridSampleOp::inferTypes(ShapeInference &inference) {
  SmallVector<DimExpr, 4> image = inference.dims(getInput());
  SmallVector<DimExpr, 4> grid = inference.dims(getGrid());
  if (image.size() < 3 || grid.size() != image.size() ||
      !grid.back().isConstant(static_cast<int64_t>(image.size()) - 2))
    return emitOpError("has operands of ")
           << image.size() << " and " << grid.size()
           << " dims, expected the same number, and a grid whose last dim are "
              "coordinates in the image";
  if (failed(inference.assume(*this, GuardKind::Equal, image[0], grid[0],
                              "GridSample: batch sizes differ")))
    return failure();
  // Names that it had before opset 20.
  if (getMode() == "bilinear")
    setMode("linear");
  if (getMode() == "bicubic")
    setMode("cubic");
  if (!llvm::is_contained({"nearest", "linear", "cubic"}, getMode()) ||
      !llvm::is_contained({"zeros", "border", "reflection"}, getPaddingMode()))
    return emitOpError("has mode ")
           << getMode() << " and padding_mode " << getPaddingMode()
           << ", of which one is not supported";
  SmallVector<DimExpr, 4> dims = {image[0], image[1]};
  dims.append(grid.begin() + 1, grid.end() - 1);
  inference.setType(getResult(), inference.element(getInput()), dims);
  return success();
}

/// The image is needed whole, channels and points pass through.
ShardingRule GridSampleOp::shardingRule() {
  ShardingRule rule;
  SmallVector<DimExpr, 4> image = dist::getDims(getInput().getType());
  SmallVector<DimExpr, 4> grid = dist::getDims(getGrid().getType());
  RuleDim batch = rule.addDim(image[0]), channels = rule.addDim(image[1]);
  RuleTensor input = {batch, channels}, points = {batch},
             result = {batch, channels};
  llvm::append_range(input, rule.addBlocked(ArrayRef(image).drop_front(2)));
  for (DimExpr size : ArrayRef(grid).drop_front().drop_back()) {
    points.push_back(rule.addDim(size));
    result.push_back(points.back());
  }
  points.push_back(rule.addDim(grid.back(), FactorClass::NeedsReplication));
  rule.operands = {input, points};
  rule.results = {result};
  return rule;
}

} // namespace shardc::onnx
