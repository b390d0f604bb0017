//===- InferShapes.cpp - Types and values known at compile time -----------===//
//
// Walks each function once, in order: ops give their results types and record
// known values. A second walk, backwards, erases what has no use any more and
// writes known values that data still depends on as constants.
//
//===----------------------------------------------------------------------===//

#include "passes/import/Passes.h"

#include "dialects/onnx/ops/Source.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace shardc::import {

#define GEN_PASS_DEF_INFERSHAPES
#include "passes/import/Passes.h.inc"

using dist::DimExpr;
using namespace onnx;

namespace {

/// The newest opset that the dialect models.
constexpr int64_t kNewestOpset = 28;

struct InferShapes : impl::InferShapesBase<InferShapes> {
  void runOnOperation() override {
    auto opset = getOperation()->getAttrOfType<IntegerAttr>("onnx.opset");
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (failed(run(function, opset ? opset.getInt() : kNewestOpset)))
        return signalPassFailure();
  }

private:
  LogicalResult run(func::FuncOp function, int64_t opset);
  void replaceKnown(Operation *op, ShapeInference &inference);
  void insertGuards(func::FuncOp function, ShapeInference &inference);
};

} // namespace

/// Values that stay are constants from now on, and the op may go.
void InferShapes::replaceKnown(Operation *op, ShapeInference &inference) {
  if (isa<ConstantOp, SymbolsOp>(op))
    return;
  for (OpResult result : op->getResults())
    if (const KnownValue *known = inference.known(result);
        known && !result.use_empty())
      result.replaceAllUsesWith(inference.constant(op, *known));
}

/// Symbols that were found to equal an expression: the expression instead.
static void simplifyTypes(func::FuncOp function, ShapeInference &inference) {
  auto simplify = [&](Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (type && dist::getValueAttr(type))
      inference.setType(value, type.getElementType(), inference.dims(value));
  };
  for (BlockArgument argument : function.getArguments())
    simplify(argument);
  for (Operation &op : function.getBody().front()) {
    for (Value result : op.getResults())
      simplify(result);
    for (NamedAttribute attribute : op.getAttrs())
      if (auto dims = dyn_cast<dist::DimsAttr>(attribute.getValue())) {
        SmallVector<DimExpr, 4> values;
        for (DimExpr value : dims.getValues())
          values.push_back(inference.simplify(value));
        op.setAttr(attribute.getName(),
                   dist::DimsAttr::get(op.getContext(), values));
      }
  }
}

void InferShapes::insertGuards(func::FuncOp function,
                               ShapeInference &inference) {
  MLIRContext *context = function.getContext();
  OpBuilder builder = OpBuilder::atBlockBegin(&function.getBody().front());
  llvm::DenseSet<std::tuple<int, const void *, const void *>> seen;
  auto dims = [&](DimExpr value) {
    return dist::DimsAttr::get(context, value);
  };
  for (const Assumption &assumption : inference.assumptions()) {
    DimExpr lhs = inference.simplify(assumption.lhs);
    DimExpr rhs = inference.simplify(assumption.rhs);
    bool isNew =
        seen.insert({int(assumption.kind), lhs.opaque(), rhs.opaque()}).second;
    if (!isNew || !inference.needsCheck(assumption))
      continue;
    GuardOp::create(builder, assumption.loc, dims(lhs),
                    stringify(assumption.kind), dims(rhs), assumption.message);
    ++numGuards;
  }
}

LogicalResult InferShapes::run(func::FuncOp function, int64_t opset) {
  if (function.isExternal())
    return success();
  Block &block = function.getBody().front();
  OpBuilder builder(function.getContext());
  ShapeInference inference(builder, opset);
  for (Operation &op : llvm::make_early_inc_range(block))
    if (auto onnxOp = dyn_cast<OnnxOp>(op))
      if (failed(onnxOp.inferTypes(inference)))
        return failure();
  for (Operation *op = &block.back(), *previous; op; op = previous) {
    previous = op->getPrevNode();
    replaceKnown(op, inference);
    if (isOpTriviallyDead(op)) {
      op->erase();
      ++numErased;
    }
  }
  if (inference.hasEqualities())
    simplifyTypes(function, inference);
  insertGuards(function, inference);
  function.setType(FunctionType::get(
      function.getContext(), block.getArgumentTypes(),
      llvm::to_vector(block.getTerminator()->getOperandTypes())));
  return success();
}

} // namespace shardc::import
