//===- Logic.cpp - Shape functions and sharding rules ---------------------===//

#include "dialects/onnx/ops/Logic.h"

#include "dialects/onnx/Folding.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/onnx/ops/Logic.cpp.inc"

namespace shardc::onnx {

using dist::DimExpr;

void OnnxDialect::registerLogicOps() {
  addOperations<
#define GET_OP_LIST
#include "dialects/onnx/ops/Logic.cpp.inc"
      >();
}

/// Element by element where the condition and both branches are known.
static std::optional<KnownValue>
foldWhere(WhereOp op, ShapeInference &inference, ArrayRef<DimExpr> dims) {
  const KnownValue *condition = inference.known(op.getCondition());
  const KnownValue *thenValue = inference.known(op.getThenValue());
  const KnownValue *elseValue = inference.known(op.getElseValue());
  std::optional<SmallVector<int64_t, 4>> shape = asConstants(dims);
  if (!condition || !thenValue || !elseValue || !shape ||
      numElements(*shape) > ShapeInference::kMaxKnownElements)
    return std::nullopt;
  std::optional<SmallVector<int64_t, 4>> choices = condition->asConstants();
  if (!choices)
    return std::nullopt;
  KnownValue result{thenValue->element, SmallVector<int64_t, 4>(*shape), {}};
  forEachIndex(*shape, [&](ArrayRef<int64_t> index) {
    const KnownValue *branch =
        (*choices)[broadcastPosition(index, condition->shape)] ? thenValue
                                                               : elseValue;
    result.elements.push_back(
        branch->elements[broadcastPosition(index, branch->shape)]);
  });
  return result;
}

LogicalResult WhereOp::inferTypes(ShapeInference &inference) {
  Type element = inference.element(getThenValue());
  if (element != inference.element(getElseValue()))
    return emitOpError("has branches of different types: ")
           << element << " and " << inference.element(getElseValue());
  auto branches = inference.broadcast(*this, inference.dims(getThenValue()),
                                      inference.dims(getElseValue()));
  if (failed(branches))
    return failure();
  auto dims =
      inference.broadcast(*this, inference.dims(getCondition()), *branches);
  if (failed(dims))
    return failure();
  if (std::optional<KnownValue> value = foldWhere(*this, inference, *dims))
    inference.setKnown(getResult(), std::move(*value));
  else
    inference.setType(getResult(), element, *dims);
  return success();
}

ShardingRule WhereOp::shardingRule() { return elementwiseRule(*this); }

PartialRule WhereOp::partialRule() { return PartialRule::Branches; }

} // namespace shardc::onnx
