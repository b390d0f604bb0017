//===- ControlFlow.cpp - Shape functions of branches ----------------------===//

#include "dialects/onnx/ops/ControlFlow.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/onnx/ops/ControlFlow.cpp.inc"

namespace shardc::onnx {

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
  SmallVector<Operation *> moved;
  for (Operation &inner :
       llvm::make_early_inc_range(body.without_terminator())) {
    inner.moveBefore(op);
    moved.push_back(&inner);
  }
  for (Operation *inner : moved)
    if (auto onnxOp = dyn_cast<OnnxOp>(inner))
      if (failed(onnxOp.inferTypes(inference)))
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

LogicalResult IfOp::inferTypes(ShapeInference &inference) {
  auto condition = inference.knownInts(*this, 0);
  if (!condition || condition->size() != 1)
    return emitOpError("has a condition that depends on data, expected one "
                       "that follows from the inputs' sizes or is an input "
                       "itself; export one branch of it");
  return takeBranch(
      *this, condition->front() ? getThenBranch() : getElseBranch(), inference);
}

ShardingRule IfOp::shardingRule() { return replicatedRule(*this); }

} // namespace shardc::onnx
