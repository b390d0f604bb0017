//===- InferShapes.cpp - Types and values known at compile time -----------===//
//
// Walks each function once, in order: ops give their results types and record
// known values. A second walk, backwards, erases what has no use any more and
// writes known values that data still depends on as constants.
//
//===----------------------------------------------------------------------===//

#include "passes/import/Passes.h"

#include "dialects/onnx/ops/Dynamic.h"
#include "dialects/onnx/ops/Source.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringSet.h"

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
  /// A walk backwards: drops what nothing needs.
  void eraseUnused(Block &block, ShapeInference &inference);
  void insertGuards(func::FuncOp function, ShapeInference &inference);
};

} // namespace

/// Values that stay are constants from now on, and the op may go.
void InferShapes::replaceKnown(Operation *op, ShapeInference &inference) {
  if (isa<ConstantOp, SymbolsOp>(op))
    return;
  auto isRead = [](Operation *user) { return isa<ReadSizesOp>(user); };
  for (OpResult result : op->getResults())
    if (const KnownValue *known = inference.known(result);
        known && !result.use_empty() &&
        llvm::none_of(result.getUsers(), isRead))
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

void InferShapes::eraseUnused(Block &block, ShapeInference &inference) {
  llvm::StringSet<> symbols;
  auto addSymbols = [&](DimExpr size) {
    size.forEachSymbol([&](StringRef name, bool) { symbols.insert(name); });
  };
  auto isUnused = [&](Operation *op) {
    auto read = dyn_cast<ReadSizesOp>(op);
    return read ? llvm::none_of(
                      cast<dist::DimsAttr>(read.getSizes()).getValues(),
                      [&](DimExpr size) {
                        std::optional<StringRef> name = size.asSymbol();
                        return !name || symbols.contains(*name);
                      })
                : isOpTriviallyDead(op);
  };
  for (const Assumption &assumption : inference.assumptions())
    for (DimExpr side : {assumption.lhs, assumption.rhs})
      addSymbols(side);
  for (Operation *op = &block.back(), *previous; op; op = previous) {
    previous = op->getPrevNode();
    if (!isa<ReadSizesOp>(op))
      replaceKnown(op, inference);
    if (!isUnused(op)) {
      forEachSize(op, addSymbols);
      continue;
    }
    op->erase();
    ++numErased;
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

/// An input that only other branches use says nothing about sizes here: what it
/// shares a symbol with may have another size.
static void freeUnusedInputs(func::FuncOp function, ShapeInference &inference) {
  for (BlockArgument input : function.getArguments()) {
    if (!input.use_empty())
      continue;
    SmallVector<DimExpr, 4> dims = inference.dims(input);
    auto name = function.getArgAttrOfType<StringAttr>(input.getArgNumber(),
                                                      "onnx.name");
    for (auto [d, size] : llvm::enumerate(dims))
      if (size.isSymbolic() && name)
        size = DimExpr::symbol((name.getValue() + ".dim" + Twine(d)).str());
    inference.setType(input, inference.element(input), dims);
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
  eraseUnused(block, inference);
  if (inference.hasEqualities())
    simplifyTypes(function, inference);
  if (function->hasAttr("onnx.when"))
    freeUnusedInputs(function, inference);
  insertGuards(function, inference);
  function.setType(FunctionType::get(
      function.getContext(), block.getArgumentTypes(),
      llvm::to_vector(block.getTerminator()->getOperandTypes())));
  return success();
}

} // namespace shardc::import
