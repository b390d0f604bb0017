//===- Reduction.cpp - Shape functions and sharding rules -----------------===//

#include "dialects/onnx/ops/Reduction.h"

#include "dialects/onnx/Folding.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/onnx/ops/Reduction.cpp.inc"

namespace shardc::onnx {

using dist::DimExpr;

void OnnxDialect::registerReductionOps() {
  addOperations<
#define GET_OP_LIST
#include "dialects/onnx/ops/Reduction.cpp.inc"
      >();
}

/// The operand that older opsets had as an attribute; all dims if absent.
static FailureOr<SmallVector<int64_t>> reducedAxes(Operation *op,
                                                   ShapeInference &inference) {
  int64_t rank = inference.rank(op->getOperand(0));
  SmallVector<int64_t> axes;
  if (auto attribute = op->getAttrOfType<DenseI64ArrayAttr>("axes")) {
    axes.assign(attribute.asArrayRef().begin(), attribute.asArrayRef().end());
  } else if (ShapeInference::isPresent(op, 1)) {
    auto known = inference.knownInts(op, 1);
    if (!known)
      return op->emitOpError(
          "has axes that depend on data, expected a constant");
    axes.assign(known->begin(), known->end());
  }
  auto noop = op->getAttrOfType<IntegerAttr>("noop_with_empty_axes");
  if (axes.empty() && !(noop && noop.getInt() != 0))
    for (int64_t d = 0; d < rank; ++d)
      axes.push_back(d);
  for (int64_t &axis : axes) {
    FailureOr<int64_t> normal = inference.normalizeAxis(op, axis, rank);
    if (failed(normal))
      return failure();
    axis = *normal;
  }
  llvm::sort(axes);
  axes.erase(llvm::unique(axes), axes.end());
  return axes;
}

static std::optional<KnownValue>
foldReduce(Operation *op, ShapeInference &inference, BinaryFold fold,
           ArrayRef<int64_t> axes, ArrayRef<DimExpr> kept,
           ArrayRef<DimExpr> dims) {
  const KnownValue *data = inference.known(op->getOperand(0));
  auto keptShape = asConstants(kept), shape = asConstants(dims);
  if (!fold || !data || !keptShape || !shape || data->elements.empty())
    return std::nullopt;
  FoldSite site{op, inference, data->element};
  SmallVector<std::optional<KnownScalar>> sums(numElements(*keptShape));
  bool folds = true;
  size_t next = 0;
  forEachIndex(data->shape, [&](ArrayRef<int64_t> index) {
    const KnownScalar &scalar = data->elements[next++];
    std::optional<KnownScalar> &sum =
        sums[broadcastPosition(index, *keptShape)];
    if (sum) {
      sum = fold(site, *sum, scalar);
      sum = sum ? storeAs(data->element, *sum) : std::nullopt;
      folds &= sum.has_value();
    } else {
      sum = scalar;
    }
  });
  KnownValue result{data->element, SmallVector<int64_t, 4>(*shape), {}};
  for (std::optional<KnownScalar> &sum : sums) {
    if (!folds || !sum)
      return std::nullopt;
    result.elements.push_back(*sum);
  }
  return result;
}

LogicalResult inferReduce(Operation *op, ShapeInference &inference,
                          BinaryFold fold) {
  FailureOr<SmallVector<int64_t>> axes = reducedAxes(op, inference);
  if (failed(axes))
    return failure();
  Value data = op->getOperand(0);
  bool keepsDims = op->getAttrOfType<IntegerAttr>("keepdims").getInt() != 0;
  SmallVector<DimExpr, 4> kept, dims;
  for (auto [d, size] : llvm::enumerate(inference.dims(data))) {
    bool isReduced = llvm::is_contained(*axes, static_cast<int64_t>(d));
    kept.push_back(isReduced ? DimExpr(1) : size);
    if (!isReduced || keepsDims)
      dims.push_back(kept.back());
  }
  inference.keepOperands(op, 1);
  op->setAttr("axes", inference.builder.getDenseI64ArrayAttr(*axes));
  op->setAttr("noop_with_empty_axes", inference.builder.getI64IntegerAttr(1));
  if (auto value = foldReduce(op, inference, fold, *axes, kept, dims))
    inference.setKnown(op->getResult(0), std::move(*value));
  else
    inference.setType(op->getResult(0), inference.element(data), dims);
  return success();
}

/// How the ranks' results combine; nothing where they do not.
static std::optional<dist::ReduceKind> reduceKind(Operation *op) {
  bool isFloat = isa<FloatType>(
      cast<ShapedType>(op->getOperand(0).getType()).getElementType());
  if (isa<ReduceSumOp, ReduceL1Op, ReduceSumSquareOp>(op) ||
      (isa<ReduceMeanOp>(op) && isFloat)) // an integer mean is rounded
    return dist::ReduceKind::Sum;
  if (isa<ReduceMaxOp>(op))
    return dist::ReduceKind::Max;
  if (isa<ReduceMinOp>(op))
    return dist::ReduceKind::Min;
  return std::nullopt;
}

ShardingRule reduceRule(Operation *op) {
  ArrayRef<int64_t> axes =
      op->getAttrOfType<DenseI64ArrayAttr>("axes").asArrayRef();
  bool keepsDims = op->getAttrOfType<IntegerAttr>("keepdims").getInt() != 0;
  std::optional<dist::ReduceKind> kind = reduceKind(op);
  ShardingRule rule;
  RuleTensor data, result;
  for (auto [d, size] :
       llvm::enumerate(dist::getDims(op->getOperand(0).getType()))) {
    if (!llvm::is_contained(axes, static_cast<int64_t>(d))) {
      data.push_back(rule.addDim(size));
      result.push_back(data.back());
      continue;
    }
    data.push_back(kind ? rule.addDim(size, FactorClass::Reduce, *kind)
                        : rule.addDim(size, FactorClass::NeedsReplication));
    if (keepsDims)
      result.push_back(RuleDim::none());
  }
  rule.operands = {data};
  rule.results = {result};
  return rule;
}

PartialRule reducePartialRule(Operation *op) {
  if (isa<ReduceSumOp>(op) || (isa<ReduceMeanOp>(op) && reduceKind(op)))
    return PartialRule::Linear;
  if (isa<ReduceMaxOp>(op))
    return PartialRule::KeepsMax;
  return isa<ReduceMinOp>(op) ? PartialRule::KeepsMin : PartialRule::None;
}

LogicalResult inferArg(Operation *op, ShapeInference &inference) {
  Value data = op->getOperand(0);
  FailureOr<int64_t> axis = inference.normalizeAxis(
      op, op->getAttrOfType<IntegerAttr>("axis").getInt(),
      inference.rank(data));
  if (failed(axis))
    return failure();
  op->setAttr("axis", inference.builder.getI64IntegerAttr(*axis));
  SmallVector<DimExpr, 4> dims = inference.dims(data);
  if (op->getAttrOfType<IntegerAttr>("keepdims").getInt() != 0)
    dims[*axis] = 1;
  else
    dims.erase(dims.begin() + *axis);
  inference.setType(op->getResult(0), inference.builder.getI64Type(), dims);
  return success();
}

ShardingRule argRule(Operation *op) {
  int64_t axis = op->getAttrOfType<IntegerAttr>("axis").getInt();
  ShardingRule rule = blockedAxesRule(op, {axis});
  RuleTensor &result = rule.results.front();
  if (op->getAttrOfType<IntegerAttr>("keepdims").getInt() != 0)
    result[axis] = RuleDim::none();
  else
    result.erase(result.begin() + axis);
  return rule;
}

/// What stands before an element along one axis, summed or multiplied.
template <typename ScanOp>
static LogicalResult inferScan(ScanOp op, ShapeInference &inference) {
  if (ShapeInference::isPresent(op, 1)) {
    auto axis = inference.knownInts(op, 1);
    if (!axis || axis->size() != 1)
      return op.emitOpError("has an axis that depends on data, expected a "
                            "constant scalar");
    FailureOr<int64_t> normal = inference.normalizeAxis(
        op, axis->front(), inference.rank(op.getData()));
    if (failed(normal))
      return failure();
    op.setAxis(*normal);
    inference.keepOperands(op, 1);
  }
  if (!op.getAxis())
    return op.emitOpError("has no axis");
  inference.setType(op.getResult(), inference.element(op.getData()),
                    inference.dims(op.getData()));
  return success();
}

LogicalResult CumSumOp::inferTypes(ShapeInference &inference) {
  return inferScan(*this, inference);
}

ShardingRule CumSumOp::shardingRule() {
  return blockedAxesRule(*this, {static_cast<int64_t>(*getAxis())});
}

LogicalResult CumProdOp::inferTypes(ShapeInference &inference) {
  return inferScan(*this, inference);
}

ShardingRule CumProdOp::shardingRule() {
  return blockedAxesRule(*this, {static_cast<int64_t>(*getAxis())});
}

} // namespace shardc::onnx
