//===- InferShapes.cpp - Types and values known at compile time -----------===//
//
// Walks each function once, in order: ops give their results types and record
// known values. A second walk, backwards, erases what has no use any more and
// writes known values that data still depends on as constants.
//
//===----------------------------------------------------------------------===//

#include "passes/import/BroadcastProfiles.h"
#include "passes/import/Passes.h"
#include "passes/import/validate/Decompositions.h"

#include "dialects/onnx/FunctionInfo.h"
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
  using InferShapesBase::InferShapesBase;

  void runOnOperation() override {
    const int64_t opset =
        onnx::modelInfo(getOperation()).opset.value_or(kNewestOpset);
    Validator validator;
    auto infer = [&](func::FuncOp function) {
      return run(function, opset, validator);
    };
    for (auto function :
         llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>())) {
      FailureOr<unsigned> made = inferProfiles(function, maxOps, infer);
      if (failed(made))
        return signalPassFailure();
      numProfiles += *made;
    }
    numValidated += validator.numEvaluated;
    numBelieved += validator.numUnknown;
  }

private:
  /// Gives what may broadcast otherwise (BroadcastProfiles.h).
  FailureOr<SmallVector<std::string>> run(func::FuncOp function, int64_t opset,
                                          Validator &validator);
  void replaceKnown(Operation *op, ShapeInference &inference);
  /// A walk backwards: drops what nothing needs. `symbols` are needed.
  void eraseUnused(Block &block, ShapeInference &inference,
                   llvm::StringSet<> &symbols);

  /// Known as symbols that nothing reads from them any more.
  llvm::DenseSet<Value> unread;
};

} // namespace

/// Values that stay are constants from now on, and the op may go.
void InferShapes::replaceKnown(Operation *op, ShapeInference &inference) {
  if (isa<ConstantOp, SymbolsOp>(op))
    return;
  auto isRead = [](Operation *user) { return isa<ReadSizesOp>(user); };
  for (OpResult result : op->getResults())
    if (const KnownValue *known = inference.known(result);
        known && !result.use_empty() && !unread.contains(result) &&
        llvm::none_of(result.getUsers(), isRead))
      result.replaceAllUsesWith(inference.constant(op, *known));
}

static void addSymbols(DimExpr size, llvm::StringSet<> &symbols) {
  size.forEachSymbol([&](StringRef name, bool) { symbols.insert(name); });
}

static llvm::StringSet<> symbolsOf(ArrayRef<Assumption> assumptions) {
  llvm::StringSet<> symbols;
  for (const Assumption &assumption : assumptions)
    for (DimExpr side : {assumption.lhs, assumption.rhs})
      addSymbols(side, symbols);
  return symbols;
}

void InferShapes::eraseUnused(Block &block, ShapeInference &inference,
                              llvm::StringSet<> &symbols) {
  auto isUnused = [&](Operation *op) {
    auto read = dyn_cast<ReadSizesOp>(op);
    return read ? llvm::none_of(read.getSizes().getValues(),
                                [&](DimExpr size) {
                                  std::optional<StringRef> name =
                                      size.asSymbol();
                                  return !name || symbols.contains(*name);
                                })
                : isOpTriviallyDead(op);
  };
  for (Operation *op = &block.back(), *previous; op; op = previous) {
    if (!isa<ReadSizesOp>(op))
      replaceKnown(op, inference);
    previous = op->getPrevNode(); // may be what it was replaced by
    if (isUnused(op)) {
      if (auto read = dyn_cast<ReadSizesOp>(op))
        unread.insert(read.getOperand());
      op->erase();
      ++numErased;
      continue;
    }
    forEachSize(op, [&](DimExpr size) { addSymbols(size, symbols); });
    for (mlir::Region &body : op->getRegions()) {
      for (Value argument : body.getArguments())
        for (DimExpr size : dist::getDims(argument.getType()))
          addSymbols(size, symbols);
      eraseUnused(body.front(), inference, symbols);
    }
  }
}

/// The symbols of sizes in a function that nobody but its unused inputs binds:
/// of what was the Shape of one, say.
static llvm::StringSet<> boundByUnused(func::FuncOp function,
                                       ShapeInference &inference) {
  llvm::StringSet<> symbols;
  function.walk([&](Operation *op) {
    if (op != function)
      forEachSize(op, [&](DimExpr size) { addSymbols(size, symbols); });
  });
  for (const Assumption &assumption : inference.assumptions())
    for (DimExpr side : {assumption.lhs, assumption.rhs})
      addSymbols(inference.simplify(side), symbols);
  for (BlockArgument input : function.getArguments())
    if (!input.use_empty())
      for (DimExpr size : inference.dims(input))
        size.forEachSymbol([&](StringRef name, bool) { symbols.erase(name); });
  return symbols;
}

/// An input that only other branches use says nothing about sizes here: what it
/// shares a symbol with may have another size.
static void freeUnusedInputs(func::FuncOp function, ShapeInference &inference) {
  llvm::StringSet<> needed = boundByUnused(function, inference);
  auto isNeeded = [&](DimExpr size) {
    bool isNeeded = false;
    size.forEachSymbol(
        [&](StringRef name, bool) { isNeeded |= needed.contains(name); });
    return isNeeded;
  };
  for (BlockArgument input : function.getArguments()) {
    if (!input.use_empty())
      continue;
    SmallVector<DimExpr, 4> dims = inference.dims(input);
    StringAttr name = FunctionInfo(function).inputName(input.getArgNumber());
    for (auto [d, size] : llvm::enumerate(dims))
      if (size.isSymbolic() && name && !isNeeded(size))
        size = DimExpr::symbol((name.getValue() + ".dim" + Twine(d)).str());
    inference.setType(input, inference.element(input), dims);
  }
}

/// What the file says of its outputs and is not so: another element is an error,
/// as ONNX Runtime has it; another size may be one of those that it was exported
/// with. Functions for sizes that are 1 have others by right.
static LogicalResult checkDeclared(func::FuncOp function) {
  FunctionInfo info(function);
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    const TypeAttr attribute = info.outputDeclared(i);
    if (!attribute)
      continue;
    info.removeOutputDeclared(i);
    auto declared = dyn_cast<TensorType>(attribute.getValue());
    auto found = dyn_cast<RankedTensorType>(function.getResultTypes()[i]);
    if (!declared || !found || info.when())
      continue;
    const StringAttr name = info.outputName(i);
    const Location loc = name ? NameLoc::get(name) : function.getLoc();
    if (declared.getElementType() != found.getElementType())
      return emitError(loc)
             << "output has elements " << found.getElementType()
             << ", the file says " << declared.getElementType()
             << "; correct what it says of the output, or export again";
    if (!declared.hasRank() ||
        succeeded(verifyCompatibleShape(declared, found)))
      continue;
    emitWarning(loc) << "output is "
                     << RankedTensorType::get(found.getShape(),
                                              found.getElementType())
                     << ", the file says " << declared;
  }
  return success();
}

FailureOr<SmallVector<std::string>>
InferShapes::run(func::FuncOp function, int64_t opset, Validator &validator) {
  if (function.isExternal())
    return SmallVector<std::string>();
  Block &block = function.getBody().front();
  OpBuilder builder(function.getContext());
  ShapeInference inference(builder, opset);
  const Decompositions decompositions(inference, validator);
  if (failed(inference.inferBlock(block)) || decompositions.hasFailed)
    return failure();
  unread.clear();
  llvm::StringSet<> symbols = symbolsOf(inference.assumptions());
  eraseUnused(block, inference, symbols);
  if (inference.hasEqualities())
    inference.simplifyTypes(*function);
  if (FunctionInfo(function).when())
    freeUnusedInputs(function, inference);
  inference.insertGuards(block);
  function.walk([&](GuardOp) { ++numGuards; });
  function.setType(FunctionType::get(
      function.getContext(), block.getArgumentTypes(),
      llvm::to_vector(block.getTerminator()->getOperandTypes())));
  if (failed(checkDeclared(function)))
    return failure();
  return llvm::to_vector(inference.stretchable());
}

} // namespace shardc::import
