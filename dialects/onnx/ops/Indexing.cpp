//===- Indexing.cpp - Shape functions and sharding rules ------------------===//

#include "dialects/onnx/ops/Indexing.h"

#include "dialects/onnx/Decomposition.h"
#include "dialects/onnx/ops/Logic.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/onnx/ops/Indexing.cpp.inc"

namespace shardc::onnx {

using dist::DimExpr;

void OnnxDialect::registerIndexingOps() {
  addOperations<
#define GET_OP_LIST
#include "dialects/onnx/ops/Indexing.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Gather
//===----------------------------------------------------------------------===//

static std::optional<KnownValue> foldGather(GatherOp op,
                                            ShapeInference &inference,
                                            int64_t axis,
                                            ArrayRef<DimExpr> dims) {
  const KnownValue *data = inference.known(op.getData());
  auto indices = inference.knownInts(op, 1);
  auto shape = asConstants(dims);
  if (!data || !indices || !shape ||
      numElements(*shape) > ShapeInference::kMaxKnownElements)
    return std::nullopt;
  int64_t size = data->shape[axis];
  for (int64_t &index : *indices) {
    index = index < 0 ? index + size : index;
    if (index < 0 || index >= size)
      return std::nullopt;
  }
  ArrayRef<int64_t> indexShape = inference.known(op.getIndices())->shape;
  return moveElements(*data, *shape, [&](ArrayRef<int64_t> index) {
    int64_t row = (*indices)[broadcastPosition(
        index.slice(axis, indexShape.size()), indexShape)];
    SmallVector<int64_t> from(index.take_front(axis));
    from.push_back(row);
    llvm::append_range(from, index.drop_front(axis + indexShape.size()));
    return from;
  });
}

LogicalResult GatherOp::inferTypes(ShapeInference &inference) {
  SmallVector<DimExpr, 4> data = inference.dims(getData());
  FailureOr<int64_t> axis = inference.normalizeAxis(
      *this, static_cast<int64_t>(getAxis()), data.size());
  if (failed(axis))
    return failure();
  setAxis(*axis);
  SmallVector<DimExpr, 4> dims(data.begin(), data.begin() + *axis);
  llvm::append_range(dims, inference.dims(getIndices()));
  llvm::append_range(dims, ArrayRef(data).drop_front(*axis + 1));
  if (auto value = foldGather(*this, inference, *axis, dims))
    inference.setKnown(getResult(), std::move(*value));
  else
    inference.setType(getResult(), inference.element(getData()), dims);
  return success();
}

/// Rows of a table may be split: a rank yields 0 for rows it does not hold.
ShardingRule GatherOp::shardingRule() {
  SmallVector<DimExpr, 4> dataDims = dist::getDims(getData().getType());
  int64_t axis = getAxis();
  bool isTable = axis == 0 && dataDims.size() >= 2 &&
                 cast<ShapedType>(getData().getType())
                         .getElementType()
                         .getIntOrFloatBitWidth() >= 8;
  ShardingRule rule;
  RuleTensor data, indices;
  for (auto [d, size] : llvm::enumerate(dataDims))
    data.push_back(rule.addDim(
        size, static_cast<int64_t>(d) != axis ? FactorClass::PassThrough
              : isTable                       ? FactorClass::Lookup
                                              : FactorClass::NeedsReplication));
  // A rank knows its rows by the first one and how many they are.
  for (ArrayRef<unsigned> segment : data[axis].segments)
    rule.factors[segment.front()].rankParts = RankParts::OneRange;
  for (DimExpr size : dist::getDims(getIndices().getType()))
    indices.push_back(rule.addDim(size));
  RuleTensor result(data.begin(), data.begin() + axis);
  llvm::append_range(result, indices);
  llvm::append_range(result, ArrayRef(data).drop_front(axis + 1));
  rule.operands = {data, indices};
  rule.results = {result};
  return rule;
}

PartialRule GatherOp::partialRule() { return PartialRule::Moves; }

//===----------------------------------------------------------------------===//
// GatherElements, ScatterElements
//===----------------------------------------------------------------------===//

/// `axis` of data and `indices`, not negative; ranks must agree.
static FailureOr<int64_t> inferAlongAxis(Operation *op,
                                         ShapeInference &inference) {
  int64_t rank = inference.rank(op->getOperand(0));
  if (inference.rank(op->getOperand(1)) != rank)
    return op->emitOpError("has data of ")
           << rank << " dims and indices of "
           << inference.rank(op->getOperand(1)) << ", expected the same";
  FailureOr<int64_t> axis = inference.normalizeAxis(
      op, op->getAttrOfType<IntegerAttr>("axis").getInt(), rank);
  if (succeeded(axis))
    op->setAttr("axis", inference.builder.getI64IntegerAttr(*axis));
  return axis;
}

/// Dims other than `axis` pass through where all operands have the same size.
static ShardingRule alongAxisRule(Operation *op, int64_t axis) {
  ShardingRule rule;
  for (Value operand : op->getOperands())
    rule.operands.emplace_back(dist::getDims(operand.getType()).size());
  for (size_t d = 0; d < rule.operands.front().size(); ++d) {
    auto sizeOf = [&](Value value) {
      return dist::getDims(value.getType())[d];
    };
    DimExpr size = sizeOf(op->getOperand(0));
    bool agree = llvm::all_of(op->getOperands(), [&](Value operand) {
      return sizeOf(operand) == size;
    });
    bool passes = agree && static_cast<int64_t>(d) != axis;
    RuleDim shared = passes ? rule.addDim(size) : RuleDim::none();
    for (auto [tensor, operand] :
         llvm::zip_equal(rule.operands, op->getOperands()))
      tensor[d] =
          passes ? shared
                 : rule.addDim(sizeOf(operand), FactorClass::NeedsReplication);
  }
  return rule;
}

LogicalResult GatherElementsOp::inferTypes(ShapeInference &inference) {
  if (failed(inferAlongAxis(*this, inference)))
    return failure();
  inference.setType(getResult(), inference.element(getData()),
                    inference.dims(getIndices()));
  return success();
}

ShardingRule GatherElementsOp::shardingRule() {
  ShardingRule rule = alongAxisRule(*this, getAxis());
  rule.results = {rule.operands[1]};
  return rule;
}

/// Sizes are compared when the op runs.
static LogicalResult expectUpdates(Operation *op, ShapeInference &inference,
                                   int64_t rank) {
  int64_t found = inference.rank(op->getOperand(2));
  if (found == rank)
    return success();
  return op->emitOpError("has updates of ")
         << found << " dims, expected " << rank;
}

/// A list of sizes with some of them replaced, as TorchScript's index_copy has.
static std::optional<KnownValue> foldScatter(ScatterElementsOp op,
                                             ShapeInference &inference) {
  const KnownValue *data = inference.known(op.getData());
  const KnownValue *updates = inference.known(op.getUpdates());
  auto indices = inference.knownInts(op, 1);
  if (!data || !updates || !indices || data->shape.size() != 1 ||
      op.getReduction() != "none" ||
      indices->size() != updates->elements.size())
    return std::nullopt;
  KnownValue result = *data;
  const int64_t size = data->shape[0];
  for (auto [index, update] : llvm::zip(*indices, updates->elements)) {
    const int64_t place = index < 0 ? index + size : index;
    if (place < 0 || place >= size)
      return std::nullopt;
    result.elements[place] = update;
  }
  return result;
}

LogicalResult ScatterElementsOp::inferTypes(ShapeInference &inference) {
  if (failed(inferAlongAxis(*this, inference)) ||
      failed(expectUpdates(*this, inference, inference.rank(getData()))))
    return failure();
  if (auto value = foldScatter(*this, inference)) {
    inference.setKnown(getResult(), std::move(*value));
    return success();
  }
  inference.setType(getResult(), inference.element(getData()),
                    inference.dims(getData()));
  return success();
}

ShardingRule ScatterElementsOp::shardingRule() {
  ShardingRule rule = alongAxisRule(*this, getAxis());
  rule.results = {rule.operands[0]};
  return rule;
}

//===----------------------------------------------------------------------===//
// GatherND, ScatterND
//===----------------------------------------------------------------------===//

/// How many dims of the data one index names.
static FailureOr<int64_t> indexDepth(Operation *op, ShapeInference &inference,
                                     int64_t batchDims) {
  SmallVector<DimExpr, 4> indices = inference.dims(op->getOperand(1));
  int64_t rank = inference.rank(op->getOperand(0));
  int64_t indexRank = indices.size();
  if (batchDims < 0 || batchDims >= std::min(rank, indexRank))
    return op->emitOpError("has batch_dims ")
           << batchDims << ", expected less than the " << rank << " and "
           << indices.size() << " dims of its operands";
  std::optional<int64_t> depth = indices.back().asConstant();
  if (!depth || *depth < 1 || batchDims + *depth > rank)
    return op->emitOpError("has indices whose last dim is ")
           << indices.back().str() << ", expected at most the "
           << rank - batchDims << " dims of its data";
  return *depth;
}

LogicalResult GatherNDOp::inferTypes(ShapeInference &inference) {
  int64_t batchDims = getBatchDims();
  FailureOr<int64_t> depth = indexDepth(*this, inference, batchDims);
  if (failed(depth))
    return failure();
  SmallVector<DimExpr, 4> data = inference.dims(getData());
  SmallVector<DimExpr, 4> dims = inference.dims(getIndices());
  for (int64_t d = 0; d < batchDims; ++d)
    if (failed(inference.assume(*this, GuardKind::Equal, data[d], dims[d],
                                "GatherND: batch dim " + Twine(d))))
      return failure();
  dims.pop_back();
  llvm::append_range(dims, ArrayRef(data).drop_front(batchDims + *depth));
  inference.setType(getResult(), inference.element(getData()), dims);
  return success();
}

ShardingRule GatherNDOp::shardingRule() {
  SmallVector<DimExpr, 4> dataDims = dist::getDims(getData().getType());
  SmallVector<DimExpr, 4> indexDims = dist::getDims(getIndices().getType());
  size_t batchDims = getBatchDims();
  size_t end = batchDims + *indexDims.back().asConstant();
  ShardingRule rule;
  RuleTensor data, indices;
  for (auto [d, size] : llvm::enumerate(dataDims))
    data.push_back(rule.addDim(size, d >= batchDims && d < end
                                         ? FactorClass::NeedsReplication
                                         : FactorClass::PassThrough));
  for (auto [d, size] : llvm::enumerate(indexDims))
    indices.push_back(
        d < batchDims ? data[d]
                      : rule.addDim(size, d + 1 == indexDims.size()
                                              ? FactorClass::NeedsReplication
                                              : FactorClass::PassThrough));
  RuleTensor result(indices.begin(), indices.end() - 1);
  llvm::append_range(result, ArrayRef(data).drop_front(end));
  rule.operands = {data, indices};
  rule.results = {result};
  return rule;
}

PartialRule GatherNDOp::partialRule() { return PartialRule::Moves; }

LogicalResult ScatterNDOp::inferTypes(ShapeInference &inference) {
  FailureOr<int64_t> depth = indexDepth(*this, inference, 0);
  if (failed(depth) ||
      failed(expectUpdates(*this, inference,
                           inference.rank(getIndices()) - 1 +
                               inference.rank(getData()) - *depth)))
    return failure();
  inference.setType(getResult(), inference.element(getData()),
                    inference.dims(getData()));
  return success();
}

/// Which rank owns a row only the indices know; what stands in a row passes.
ShardingRule ScatterNDOp::shardingRule() {
  SmallVector<DimExpr, 4> indexDims = dist::getDims(getIndices().getType());
  size_t depth = *indexDims.back().asConstant();
  ShardingRule rule;
  RuleTensor data;
  for (auto [d, size] : llvm::enumerate(dist::getDims(getData().getType())))
    data.push_back(rule.addDim(size, d < depth ? FactorClass::NeedsReplication
                                               : FactorClass::PassThrough));
  RuleTensor indices = rule.addBlocked(indexDims);
  RuleTensor updates(indices.begin(), indices.end() - 1);
  llvm::append_range(updates, ArrayRef(data).drop_front(depth));
  rule.operands = {data, indices, updates};
  rule.results = {data};
  return rule;
}

LogicalResult ScatterOp::inferTypes(ShapeInference &inference) {
  auto scatter = inference.create<ScatterElementsOp>(
      *this, getOperands(),
      {inference.attribute("axis", getAxis()),
       inference.builder.getNamedAttr(
           "reduction", inference.builder.getStringAttr("none"))});
  if (!scatter)
    return failure();
  inference.replace(*this, scatter.getResult());
  return success();
}

//===----------------------------------------------------------------------===//
// OneHot
//===----------------------------------------------------------------------===//

/// Where(indices == position or indices + depth == position, on, off): sharded
/// like any elementwise op.
LogicalResult OneHotOp::inferTypes(ShapeInference &inference) {
  Decomposition d(*this, inference);
  SmallVector<DimExpr, 4> dims = d.dims(getIndices());
  FailureOr<int64_t> axis = inference.normalizeAxis(
      *this, static_cast<int64_t>(getAxis()), dims.size() + 1);
  if (failed(axis))
    return failure();
  if (d.dims(getValues()) != SmallVector<DimExpr, 4>{DimExpr(2)} ||
      product(d.dims(getDepth())) != DimExpr(1))
    return emitOpError("has depth and values of ")
           << getDepth().getType() << " and " << getValues().getType()
           << ", expected one number and two, off and on";
  Value depth = d.reshape(d.cast(getDepth(), d.i64()), {});
  DimExpr size = inference.readSize(depth);
  SmallVector<DimExpr, 4> along(dims.size() + 1, DimExpr(1));
  along[*axis] = size;
  dims.insert(dims.begin() + *axis, 1);
  Value indices = d.reshape(d.cast(getIndices(), d.i64()), dims);
  Value positions = d.reshape(d.range(0, size), along);
  Value isHot =
      d.make<OrOp>({d.make<EqualOp>({indices, positions}),
                    d.make<EqualOp>({d.add(indices, depth), positions})});
  return d.replaceBy({d.make<WhereOp>(
      {isHot, d.row(getValues(), 0, 1), d.row(getValues(), 0, 0)})});
}

//===----------------------------------------------------------------------===//
// TopK, Trilu
//===----------------------------------------------------------------------===//

LogicalResult TopKOp::inferTypes(ShapeInference &inference) {
  SmallVector<DimExpr, 4> dims = inference.dims(getData());
  FailureOr<int64_t> axis = inference.normalizeAxis(
      *this, static_cast<int64_t>(getAxis()), dims.size());
  if (failed(axis))
    return failure();
  setAxis(*axis);
  if (getNumOperands() == 1 && ShapeInference::hasType(getValues()))
    return success();
  auto k = getK() ? std::optional(SmallVector<DimExpr, 4>(
                        1, static_cast<int64_t>(*getK())))
                  : inference.knownOrReadDims(*this, 1);
  if (!k || k->size() != 1)
    return emitOpError("has a k that depends on data, expected one that "
                       "follows from the sizes of the inputs");
  removeKAttr();
  if (failed(inference.assume(*this, GuardKind::AtMost, k->front(), dims[*axis],
                              "TopK: k is more than the elements")))
    return failure();
  dims[*axis] = k->front();
  inference.setType(getValues(), inference.element(getData()), dims);
  inference.setType(getIndices(), inference.builder.getI64Type(), dims);
  inference.keepOperands(*this, 1);
  return success();
}

ShardingRule TopKOp::shardingRule() {
  int64_t axis = getAxis();
  ShardingRule rule = blockedAxesRule(*this, {axis});
  RuleDim chosen = rule.addDim(dist::getDims(getValues().getType())[axis],
                               FactorClass::NeedsReplication);
  for (RuleTensor &result : rule.results)
    result[axis] = chosen;
  return rule;
}

LogicalResult TriluOp::inferTypes(ShapeInference &inference) {
  SmallVector<DimExpr, 4> dims = inference.dims(getData());
  DimExpr diagonal = 0;
  if (ShapeInference::isPresent(*this, 1)) {
    auto k = inference.knownDims(*this, 1);
    if (!k || k->size() != 1)
      return emitOpError("has a k that depends on data, expected one that "
                         "follows from the sizes of the inputs");
    diagonal = k->front();
  }
  if (!getBounds())
    setBoundsAttr(dist::DimsAttr::get(getContext(), {diagonal}));
  inference.keepOperands(*this, 1);
  inference.setType(getResult(), inference.element(getData()), dims);
  return success();
}

ShardingRule TriluOp::shardingRule() {
  int64_t rank = dist::getDims(getData().getType()).size();
  return blockedAxesRule(*this, {rank - 2, rank - 1});
}

PartialRule TriluOp::partialRule() { return PartialRule::Linear; }

} // namespace shardc::onnx
