//===- Source.cpp - Lowering of weights, constants and ranges -------------===//

#include "dialects/onnx/ops/Source.h"

#include "passes/lower/Lowering.h"

using namespace mlir;

namespace shardc::lower {

static void bindSource(Operation *op, Value buffer, Lowering &lowering) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  lowering.bind(
      op->getResult(0),
      {buffer, type.getElementType(),
       StridedLayout::contiguous(Lowering::localDims(op->getResult(0))),
       /*isLoadTime=*/true, dist::getSharding(type).isReplicated()});
}

static LogicalResult lowerWeight(Operation *op, Lowering &lowering) {
  auto weight = cast<onnx::WeightOp>(op);
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  OpBuilder &b = lowering.atLoad();
  bindSource(
      op,
      rt::WeightOp::create(
          b, op->getLoc(), b.getType<rt::BufferType>(), weight.getNameAttr(),
          weight.getFileAttr(), weight.getOffsetAttr(), weight.getLengthAttr(),
          TypeAttr::get(type.getElementType()), Lowering::encodingOf(type)),
      lowering);
  return success();
}

static LogicalResult lowerConstant(Operation *op, Lowering &lowering) {
  auto constant = cast<onnx::ConstantOp>(op);
  OpBuilder &b = lowering.atLoad();
  bindSource(
      op,
      rt::ConstantOp::create(b, op->getLoc(), b.getType<rt::BufferType>(),
                             constant.getValueAttr(),
                             Lowering::encodingOf(op->getResult(0).getType())),
      lowering);
  return success();
}

static LogicalResult lowerSymbols(Operation *op, Lowering &lowering) {
  ValueView result = lowering.allocate(op, op->getResult(0));
  auto values = cast<dist::DimsAttr>(op->getAttr("values")).getValues();
  lowering.call(op, "Symbols", {}, {result},
                {lowering.scalars("values", values)});
  return success();
}

static LogicalResult lowerRange(Operation *op, Lowering &lowering) {
  ValueView result = lowering.allocate(op, op->getResult(0));
  if (auto bounds = op->getAttrOfType<dist::DimsAttr>("bounds")) {
    lowering.call(op, "Range", {}, {result},
                  {lowering.scalars("start", bounds.getValues()[0]),
                   lowering.scalars("delta", bounds.getValues()[1])});
    return success();
  }
  lowering.call(
      op, "Range",
      {lowering.view(op->getOperand(0)), lowering.view(op->getOperand(2))},
      {result});
  return success();
}

void addSourceLowerings(LoweringMap &map) {
  map["onnx.Weight"] = lowerWeight;
  map["onnx.Constant"] = lowerConstant;
  map["onnx.Symbols"] = lowerSymbols;
  map["onnx.Range"] = lowerRange;
}

} // namespace shardc::lower
