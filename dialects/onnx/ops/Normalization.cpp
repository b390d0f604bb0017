//===- Normalization.cpp - Shape functions and sharding rules -------------===//

#include "dialects/onnx/ops/Normalization.h"

#include "dialects/onnx/BroadcastTo.h"
#include "dialects/onnx/Decomposition.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/onnx/ops/Normalization.cpp.inc"

namespace shardc::onnx {

using dist::DimExpr;

void OnnxDialect::registerNormalizationOps() {
  addOperations<
#define GET_OP_LIST
#include "dialects/onnx/ops/Normalization.cpp.inc"
      >();
}

LogicalResult inferSoftmax(Operation *op, ShapeInference &inference) {
  Value input = op->getOperand(0);
  int64_t rank = inference.rank(input);
  FailureOr<int64_t> axis = inference.normalizeAxis(
      op, op->getAttrOfType<IntegerAttr>("axis").getInt(), rank);
  if (failed(axis))
    return failure();
  SmallVector<DimExpr, 4> dims = inference.dims(input);
  // Before opset 13 all dims from axis on were one.
  bool isFlat = inference.opset < 13 && *axis != rank - 1;
  if (isFlat) {
    SmallVector<DimExpr, 4> flat(dims.begin(), dims.begin() + *axis);
    flat.push_back(product(ArrayRef(dims).drop_front(*axis)));
    op->setOperand(0, inference.reshape(op, input, flat));
    inference.setType(op->getResult(0), inference.element(input), flat);
  } else {
    inference.setType(op->getResult(0), inference.element(input), dims);
  }
  op->setAttr("axis", inference.builder.getI64IntegerAttr(*axis));
  if (!isFlat)
    return success();
  // The reshape back uses the result, and so stands behind the op.
  Value result = op->getResult(0);
  Value whole = inference.reshape(op, result, dims);
  whole.getDefiningOp()->moveAfter(op);
  result.replaceAllUsesExcept(whole, whole.getDefiningOp());
  return success();
}

/// Common to the norms: the first normalised axis, and dims of scale and bias
/// that broadcast to those behind it.
static LogicalResult inferNorm(Operation *op, ShapeInference &inference) {
  Value input = op->getOperand(0);
  FailureOr<int64_t> axis = inference.normalizeAxis(
      op, op->getAttrOfType<IntegerAttr>("axis").getInt(),
      inference.rank(input));
  if (failed(axis))
    return failure();
  op->setAttr("axis", inference.builder.getI64IntegerAttr(*axis));
  inference.dropAbsentTail(op);
  SmallVector<DimExpr, 4> dims = inference.dims(input);
  for (Value parameter : op->getOperands().drop_front()) {
    if (!ShapeInference::isPresent(parameter))
      continue;
    if (failed(broadcastTo(inference, op, dims, inference.dims(parameter),
                           "a scale or bias")))
      return failure();
  }
  inference.setType(op->getResult(0), inference.element(input), dims);
  // Mean and inverse standard deviation.
  for (Value statistic : op->getResults().drop_front()) {
    SmallVector<DimExpr, 4> reduced = dims;
    for (size_t d = *axis; d < dims.size(); ++d)
      reduced[d] = 1;
    inference.setType(statistic, inference.builder.getF32Type(), reduced);
  }
  return success();
}

/// Whether a scale or bias differs along dims that are not normalised, as that of
/// [3, 4] for rows of [2, 3, 4]: it is no part of a norm then.
static bool isWide(Operation *op, ShapeInference &inference) {
  const int64_t rank = inference.rank(op->getOperand(0));
  const int64_t axis = op->getAttrOfType<IntegerAttr>("axis").getInt();
  const int64_t most = axis < 0 ? -axis : rank - axis;
  if (most < 1 || most > rank)
    return false; // an error
  return llvm::any_of(op->getOperands().drop_front(), [&](Value parameter) {
    if (!ShapeInference::isPresent(parameter))
      return false;
    const SmallVector<DimExpr, 4> dims = inference.dims(parameter);
    return int64_t(dims.size()) > most &&
           !llvm::all_of(ArrayRef(dims).drop_back(most),
                         [](DimExpr size) { return size.isConstant(1); });
  });
}

/// A norm by 1, then the product and the sum.
template <typename NormOp>
static LogicalResult replaceWide(NormOp op, ShapeInference &inference) {
  Decomposition d(op, inference);
  Value input = op.getOperand(0), scale = d.operand(1), bias = d.operand(2);
  for (Value parameter : {scale, bias})
    if (parameter && failed(broadcastTo(inference, op, d.dims(input),
                                        d.dims(parameter), "a scale or bias")))
      return failure();
  Value norm = d.make<NormOp>({input, d.number(d.element(input), 1)},
                              {d.attribute("axis", op.getAxis()),
                               d.attribute("epsilon", op.getEpsilon())});
  norm = d.mul(norm, scale);
  return d.replaceBy({bias ? d.add(norm, bias) : norm});
}

/// Normalised dims need replication, in scale and bias too.
static ShardingRule normRule(Operation *op, int64_t axis) {
  ShardingRule rule;
  RuleTensor tensor, statistics;
  for (auto [d, size] :
       llvm::enumerate(dist::getDims(op->getOperand(0).getType()))) {
    bool isNormalized = static_cast<int64_t>(d) >= axis;
    tensor.push_back(rule.addDim(size, isNormalized
                                           ? FactorClass::NeedsReplication
                                           : FactorClass::PassThrough));
    statistics.push_back(isNormalized ? RuleDim::none() : tensor.back());
  }
  rule.operands.push_back(tensor);
  for (Value parameter : op->getOperands().drop_front()) {
    SmallVector<DimExpr, 4> dims = dist::getDims(parameter.getType());
    RuleTensor part(dims.size());
    for (size_t d = 0; d < dims.size(); ++d)
      if (!dims[d].isConstant(1))
        part[d] = tensor[tensor.size() - dims.size() + d];
    rule.operands.push_back(std::move(part));
  }
  rule.results.assign(op->getNumResults(), statistics);
  rule.results.front() = tensor;
  return rule;
}

LogicalResult LayerNormalizationOp::inferTypes(ShapeInference &inference) {
  if (isWide(*this, inference))
    return replaceWide(*this, inference);
  return inferNorm(*this, inference);
}

ShardingRule LayerNormalizationOp::shardingRule() {
  return normRule(*this, getAxis());
}

LogicalResult RMSNormalizationOp::inferTypes(ShapeInference &inference) {
  if (isWide(*this, inference))
    return replaceWide(*this, inference);
  return inferNorm(*this, inference);
}

ShardingRule RMSNormalizationOp::shardingRule() {
  return normRule(*this, getAxis());
}

} // namespace shardc::onnx
