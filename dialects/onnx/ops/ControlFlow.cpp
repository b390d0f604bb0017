//===- ControlFlow.cpp - Shape functions of branches ----------------------===//

#include "dialects/onnx/ops/ControlFlow.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/onnx/ops/ControlFlow.cpp.inc"

namespace shardc::onnx {

using dist::DimExpr;

void OnnxDialect::registerControlFlowOps() {
  addOperations<
#define GET_OP_LIST
#include "dialects/onnx/ops/ControlFlow.cpp.inc"
      >();
}

/// The branch's ops stand in the op's place.
static LogicalResult takeBranch(IfOp op, Region &branch,
                                ShapeInference &inference) {
  Block &body = branch.front();
  for (auto [argument, capture] :
       llvm::zip(body.getArguments(), op.getCaptures()))
    argument.replaceAllUsesWith(capture);
  SmallVector<Operation *> moved;
  for (Operation &inner :
       llvm::make_early_inc_range(body.without_terminator())) {
    inner.moveBefore(op);
    moved.push_back(&inner);
  }
  if (failed(inference.inferOps(moved)))
    return failure();
  // Only now: an op may have been replaced by another.
  Operation *yield = body.getTerminator();
  if (yield->getNumOperands() != op->getNumResults())
    return op.emitOpError("has a branch of ")
           << yield->getNumOperands() << " results, expected "
           << op->getNumResults();
  for (auto [i, value] : llvm::enumerate(yield->getOperands()))
    inference.replaceResult(op, i, value);
  return success();
}

/// What both branches may give: sizes in which they differ are new symbols.
static LogicalResult joinTypes(IfOp op, unsigned index, Value lhs, Value rhs,
                               ShapeInference &inference) {
  auto left = dyn_cast<RankedTensorType>(lhs.getType());
  auto right = dyn_cast<RankedTensorType>(rhs.getType());
  if (!left || !right || left.getElementType() != right.getElementType() ||
      left.getRank() != right.getRank())
    return op.emitOpError("has branches whose results ")
           << index << " are of different types, " << lhs.getType() << " and "
           << rhs.getType()
           << ": expected one element type and one number of dims, since its "
              "condition depends on data; export the branch that is needed";
  SmallVector<DimExpr, 4> dims;
  for (auto [a, b] : llvm::zip(dist::getDims(left), dist::getDims(right)))
    dims.push_back(a == b ? a : inference.newSize(op.getLoc()));
  inference.setType(op->getResult(index), left.getElementType(), dims);
  return success();
}

LogicalResult IfOp::inferTypes(ShapeInference &inference) {
  auto condition = inference.knownInts(*this, 0);
  for (Region *branch : {&getThenBranch(), &getElseBranch()})
    inference.bindArguments(llvm::to_vector(branch->getArguments()),
                            getCaptures());
  if (condition && condition->size() == 1)
    return takeBranch(*this,
                      condition->front() ? getThenBranch() : getElseBranch(),
                      inference);
  if (!inference.element(getCondition()).isInteger(1))
    return emitOpError("has a condition of ")
           << inference.element(getCondition()) << ", expected booleans";
  for (Region *branch : {&getThenBranch(), &getElseBranch()}) {
    if (failed(inference.inferBody(*branch)))
      return failure();
    unsigned found = branch->front().getTerminator()->getNumOperands();
    if (found != getNumResults())
      return emitOpError("has a branch of ")
             << found << " results, expected " << getNumResults();
  }
  for (unsigned i = 0; i < getNumResults(); ++i)
    if (failed(joinTypes(
            *this, i, getThenBranch().front().getTerminator()->getOperand(i),
            getElseBranch().front().getTerminator()->getOperand(i), inference)))
      return failure();
  return success();
}

/// Every rank runs the same branch, on the whole of what it uses.
ShardingRule IfOp::shardingRule() { return replicatedRule(*this); }

} // namespace shardc::onnx
