//===- Source.cpp - Lowering of weights, constants and ranges -------------===//

#include "dialects/onnx/ops/Source.h"

#include "passes/lower/Lowering.h"

using namespace mlir;

namespace shardc::onnx {

using namespace lower;

static void bindSource(Operation *op, Value buffer, Lowering &lowering) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  lowering.bind(
      op->getResult(0),
      {buffer, type.getElementType(),
       StridedLayout::contiguous(Lowering::localDims(op->getResult(0))),
       /*isLoadTime=*/true, dist::getSharding(type).isReplicated()});
}

LogicalResult WeightOp::lower(Lowering &lowering) {
  Operation *op = getOperation();
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  OpBuilder &b = lowering.atLoad();
  bindSource(op,
             rt::WeightOp::create(b, op->getLoc(), b.getType<rt::BufferType>(),
                                  getNameAttr(), getFileAttr(), getOffsetAttr(),
                                  getLengthAttr(),
                                  TypeAttr::get(type.getElementType()),
                                  Lowering::encodingOf(type)),
             lowering);
  return success();
}

LogicalResult ConstantOp::lower(Lowering &lowering) {
  Operation *op = getOperation();
  OpBuilder &b = lowering.atLoad();
  bindSource(op,
             rt::ConstantOp::create(
                 b, op->getLoc(), b.getType<rt::BufferType>(), getValueAttr(),
                 Lowering::encodingOf(op->getResult(0).getType())),
             lowering);
  return success();
}

LogicalResult SymbolsOp::lower(Lowering &lowering) {
  Operation *op = getOperation();
  ValueView result = lowering.allocate(op, op->getResult(0));
  auto values = cast<dist::DimsAttr>(op->getAttr("values")).getValues();
  lowering.call(op, "Symbols", {}, {result},
                {lowering.scalars("values", values)});
  return success();
}

LogicalResult RangeOp::lower(Lowering &lowering) {
  Operation *op = getOperation();
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

/// What is absent needs no view.
LogicalResult NoneOp::lower(Lowering &) { return success(); }

LogicalResult GuardOp::lower(Lowering &lowering) {
  lowering.guard(*this, getLhs().getValues()[0], getKind(),
                 getRhs().getValues()[0], getMessage());
  return success();
}

} // namespace shardc::onnx
