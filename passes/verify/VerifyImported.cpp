//===- VerifyImported.cpp - What holds before anything is split -----------===//

#include "passes/verify/VerifyImported.h"

#include "dialects/dist/Dist.h"
#include "dialects/dist/algebra/DimLimits.h"
#include "dialects/onnx/ops/ControlFlow.h"
#include "dialects/onnx/ops/Dynamic.h"
#include "dialects/onnx/ops/Source.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace shardc::verify {

/// The symbols of every size are an input's, or were bound before: by what is
/// read of the data, or by the op that has bodies. What a body binds is its
/// own.
static LogicalResult verifySymbols(Block &block, llvm::StringSet<> bound) {
  auto bind = [&](StringRef name, bool) { bound.insert(name); };
  for (Type type : block.getArgumentTypes())
    for (dist::DimExpr size : dist::getDims(type))
      size.forEachSymbol(bind);
  for (Operation &op : block) {
    std::string unbound;
    auto check = [&](dist::DimExpr size) {
      size.forEachSymbol([&](StringRef name, bool isCoordinate) {
        if (!isCoordinate && !bound.contains(name))
          unbound = name.str();
      });
    };
    for (Region &body : op.getRegions())
      if (failed(verifySymbols(body.front(), bound)))
        return failure();
    if (isa<onnx::ReadSizesOp>(op) || op.getNumRegions() > 0) {
      onnx::forEachSize(&op,
                        [&](dist::DimExpr size) { size.forEachSymbol(bind); });
      continue;
    }
    // A function checks a guard once all of its symbols are bound.
    bool isLater =
        isa<onnx::GuardOp>(op) && isa<func::FuncOp>(block.getParentOp());
    if (!isLater)
      onnx::forEachSize(&op, check);
    if (!unbound.empty())
      return op.emitError("needs the size \"")
             << unbound << "\", which no input has and nothing before it reads";
  }
  return success();
}

LogicalResult verifySymbols(func::FuncOp function) {
  return verifySymbols(function.front(), {});
}

/// A body is a program of its own: it sees its arguments, and every rank runs
/// the whole of it.
static LogicalResult verifyBody(Region &body) {
  for (Operation &op : body.front()) {
    if (isa<dist::DistDialect>(op.getDialect()))
      return op.emitError("stands in a body of control flow, which every rank "
                          "runs whole");
    for (Value operand : op.getOperands())
      if (operand.getParentRegion() != &body)
        return op.emitError("uses a value from around the body it stands in");
    for (Value result : op.getResults()) {
      dist::ValueAttr encoding = dist::getValueAttr(result.getType());
      if (encoding && encoding.getSharding())
        return op.emitError("has a sharding in a body of control flow: ")
               << result.getType();
    }
    for (Region &inner : op.getRegions())
      if (failed(verifyBody(inner)))
        return failure();
  }
  return success();
}

/// Each last argument of a body is the operand that it stands for.
static LogicalResult verifyArguments(Operation &op,
                                     ArrayRef<BlockArgument> arguments) {
  ValueRange operands = op.getOperands().take_back(arguments.size());
  for (auto [argument, operand] : llvm::zip_equal(arguments, operands)) {
    auto found = dyn_cast<RankedTensorType>(argument.getType());
    auto expected = dyn_cast<RankedTensorType>(operand.getType());
    if (!found || !expected ||
        found.getElementType() != expected.getElementType() ||
        dist::getDims(found) != dist::getDims(expected))
      return op.emitError("has a body with an argument ")
             << argument.getType() << " for an operand " << operand.getType();
  }
  return success();
}

LogicalResult verifyBodies(Operation &op) {
  // Of a loop the first two are its iteration and condition, of a branch the
  // first operand is none of the bodies'.
  const unsigned own = isa<onnx::IfOp>(op) ? 1 : 0;
  for (Region &body : op.getRegions()) {
    if (body.getNumArguments() + own != op.getNumOperands())
      return op.emitError("has a body of ")
             << body.getNumArguments() << " arguments, expected "
             << op.getNumOperands() - own;
    if (failed(verifyBody(body)))
      return failure();
    if (isa<onnx::IfOp>(op) && failed(verifyArguments(op, body.getArguments())))
      return failure();
  }
  if (auto loop = dyn_cast<onnx::LoopOp>(op))
    return verifyArguments(op, loop.getCapturedArguments());
  return success();
}

/// Every op is one of ours, every size a constant or an expression over
/// symbols.
LogicalResult verifyImported(func::FuncOp function) {
  auto sizesKnown = [&](Value value, Operation *at) -> LogicalResult {
    if (isa<NoneType>(value.getType()))
      return success();
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type)
      return at->emitError("has a value of unknown type: ") << value.getType();
    for (dist::DimExpr size : dist::getDims(type))
      if (size == dist::DimExpr::symbol("?") || dist::isTooLarge(size))
        return at->emitError("has a value of unknown size: ") << type;
    return success();
  };
  for (Value argument : function.getArguments())
    if (failed(sizesKnown(argument, function)))
      return failure();
  auto result = function.getBody().walk([&](Operation *op) {
    if (!isa<onnx::OnnxOp, onnx::NoneOp, onnx::GuardOp, onnx::YieldOp,
             func::ReturnOp>(op) ||
        op->hasTrait<onnx::IsReplaced>()) {
      op->emitError("is not an op of phase imported");
      return WalkResult::interrupt();
    }
    for (Value result : op->getResults())
      if (failed(sizesKnown(result, op)))
        return WalkResult::interrupt();
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  for (Operation &op : function.front())
    if (failed(verifyBodies(op)))
      return failure();
  return verifySymbols(function);
}

} // namespace shardc::verify
