//===- LayoutShapes.cpp - Reshape, Expand, Tile ---------------------------===//

#include "dialects/onnx/ops/Layout.h"

using namespace mlir;

namespace shardc::onnx {

using dist::DimExpr;

/// The op is in its form after import: its result's dims say everything.
static bool isDone(Operation *op) {
  return op->getNumOperands() == 1 && ShapeInference::hasType(op->getResult(0));
}

/// The known shape operand, or an error.
static FailureOr<SmallVector<DimExpr, 4>>
shapeOperand(Operation *op, ShapeInference &inference) {
  if (auto dims = inference.knownOrReadDims(op, 1))
    return *dims;
  return op->emitOpError("has a shape that is no small integer tensor");
}

//===----------------------------------------------------------------------===//
// Reshape
//===----------------------------------------------------------------------===//

/// The dim that stands for -1: what is left of the elements.
static FailureOr<DimExpr> inferRest(ReshapeOp op, ShapeInference &inference,
                                    ArrayRef<DimExpr> data,
                                    ArrayRef<DimExpr> others) {
  DimExpr total = product(data), part = product(others);
  if (part.isConstant(0) || (total.asConstant() && part.asConstant() &&
                             *total.asConstant() % *part.asConstant() != 0))
    return op.emitOpError("has -1 in its shape, but ")
           << total.str() << " elements are no multiple of " << part.str();
  if (failed(inference.assume(op, GuardKind::AtLeast, part, 1,
                              "Reshape: -1 needs the other dims, " +
                                  part.str() + ", to be no 0")))
    return failure();
  if (std::optional<DimExpr> rest = total.exactDiv(part))
    return *rest;
  if (failed(
          inference.assume(op, GuardKind::Equal, DimExpr::mod(total, part), 0,
                           "Reshape: " + total.str() +
                               " elements are no multiple of " + part.str())))
    return failure();
  return DimExpr::floorDiv(total, part);
}

/// Same number of elements; dims that both have take no part.
static LogicalResult checkElements(ReshapeOp op, ShapeInference &inference,
                                   SmallVector<DimExpr, 4> from,
                                   SmallVector<DimExpr, 4> to) {
  if (product(from) == product(to))
    return success();
  for (size_t i = to.size(); i-- > 0;)
    if (auto *it = llvm::find(from, to[i]); it != from.end()) {
      from.erase(it);
      to.erase(to.begin() + i);
    }
  return inference.assume(op, GuardKind::Equal, product(from), product(to),
                          "Reshape: " + product(from).str() + " elements to " +
                              product(to).str());
}

LogicalResult ReshapeOp::inferTypes(ShapeInference &inference) {
  if (isDone(*this)) {
    inference.keepKnown(getData(), getResult());
    return success();
  }
  SmallVector<DimExpr, 4> data = inference.dims(getData()), others;
  FailureOr<SmallVector<DimExpr, 4>> dims = shapeOperand(*this, inference);
  if (failed(dims))
    return failure();
  std::optional<size_t> rest;
  for (auto [i, dim] : llvm::enumerate(*dims)) {
    if (dim.isConstant(-1)) {
      if (rest)
        return emitOpError("has -1 twice in its shape, expected it once");
      rest = i;
      continue;
    }
    if (dim.isConstant(0) && getAllowzero() == 0) {
      if (i >= data.size())
        return emitOpError("copies dim ")
               << i << " of an operand with " << data.size() << " dims";
      dim = data[i];
    }
    if (failed(inference.assume(*this, GuardKind::AtLeast, dim, 0,
                                "Reshape: dim " + Twine(i))))
      return failure();
    others.push_back(dim);
  }
  if (rest) {
    FailureOr<DimExpr> size = inferRest(*this, inference, data, others);
    if (failed(size))
      return failure();
    (*dims)[*rest] = *size;
  } else if (failed(checkElements(*this, inference, data, *dims))) {
    return failure();
  }
  inference.replace(*this, inference.reshape(*this, getData(), *dims));
  return success();
}

ShardingRule ReshapeOp::shardingRule() {
  ReshapeFactors factors = reshapeFactors(dist::getDims(getData().getType()),
                                          dist::getDims(getResult().getType()));
  ShardingRule rule;
  rule.factors = std::move(factors.factors);
  rule.operands = {std::move(factors.from)};
  rule.results = {std::move(factors.to)};
  return rule;
}

PartialRule ReshapeOp::partialRule() { return PartialRule::Moves; }

//===----------------------------------------------------------------------===//
// Expand
//===----------------------------------------------------------------------===//

/// A size that is read from data may be 1, too, which leaves the dim as it is.
static LogicalResult settleReadSizes(ExpandOp op, ShapeInference &inference,
                                     ArrayRef<DimExpr> data,
                                     MutableArrayRef<DimExpr> shape) {
  for (size_t i = 1; i <= std::min(data.size(), shape.size()); ++i) {
    DimExpr dim = data.end()[-i], &size = shape.end()[-i];
    std::optional<StringRef> symbol = size.asSymbol();
    if (!symbol || dim.isConstant(1) || !inference.isReadSince(*symbol, 0))
      continue;
    inference.noteStretchable(dim);
    if (failed(inference.assume(
            op, GuardKind::Equal, (size - dim) * (size - 1), 0,
            "Expand: a dim of " + dim.str() + " to " + size.str())))
      return failure();
    size = 1;
  }
  return success();
}

LogicalResult ExpandOp::inferTypes(ShapeInference &inference) {
  if (isDone(*this))
    return success();
  FailureOr<SmallVector<DimExpr, 4>> shape = shapeOperand(*this, inference);
  if (failed(shape))
    return failure();
  SmallVector<DimExpr, 4> data = inference.dims(getData());
  if (failed(settleReadSizes(*this, inference, data, *shape)))
    return failure();
  auto dims = inference.broadcast(*this, data, *shape);
  if (failed(dims))
    return failure();
  inference.replace(*this, inference.expand(*this, getData(), *dims));
  return success();
}

/// New dims, and those that were 1, are free: every rank has all it needs.
ShardingRule ExpandOp::shardingRule() { return elementwiseRule(*this); }

PartialRule ExpandOp::partialRule() { return PartialRule::Moves; }

//===----------------------------------------------------------------------===//
// Tile
//===----------------------------------------------------------------------===//

LogicalResult TileOp::inferTypes(ShapeInference &inference) {
  if (isDone(*this))
    return success();
  SmallVector<DimExpr, 4> dims = inference.dims(getData());
  FailureOr<SmallVector<DimExpr, 4>> repeats = shapeOperand(*this, inference);
  if (failed(repeats))
    return failure();
  if (repeats->size() != dims.size())
    return emitOpError("has ")
           << repeats->size() << " repeats, expected " << dims.size();
  const KnownValue *known = inference.known(getData());
  SmallVector<DimExpr, 4> tiled;
  bool isExpand = true;
  for (auto [dim, repeat] : llvm::zip_equal(dims, *repeats)) {
    tiled.push_back(dim * repeat);
    isExpand &= dim.isConstant(1) || repeat.isConstant(1);
  }
  std::optional<SmallVector<int64_t, 4>> shape = asConstants(tiled);
  if (isExpand) {
    inference.replace(*this, inference.expand(*this, getData(), tiled));
  } else if (known && shape &&
             numElements(*shape) <= ShapeInference::kMaxKnownElements) {
    inference.setKnown(
        getResult(), moveElements(*known, *shape, [&](ArrayRef<int64_t> index) {
          SmallVector<int64_t> from;
          for (auto [i, size] : llvm::zip_equal(index, known->shape))
            from.push_back(i % size);
          return from;
        }));
  } else {
    inference.setType(getResult(), inference.element(getData()), tiled);
    inference.keepOperands(*this, 1);
  }
  return success();
}

/// A dim repeated r times is (r, dim), r free.
ShardingRule TileOp::shardingRule() {
  ShardingRule rule;
  RuleTensor data, result;
  for (auto [from, to] :
       llvm::zip_equal(dist::getDims(getData().getType()),
                       dist::getDims(getResult().getType()))) {
    data.push_back(rule.addDim(from));
    result.push_back(data.back());
    std::optional<DimExpr> repeats =
        from.isConstant(0) ? std::nullopt : to.exactDiv(from);
    if (from == to || (repeats && repeats->isConstant(1)))
      continue;
    if (!repeats) {
      data.back() = rule.addDim(from, FactorClass::NeedsReplication);
      result.back() = rule.addDim(to, FactorClass::NeedsReplication);
      continue;
    }
    unsigned major = rule.addFactor(*repeats);
    if (result.back().segments.empty())
      result.back().segments.emplace_back();
    auto &factors = result.back().segments.front();
    factors.insert(factors.begin(), major);
  }
  rule.operands = {data};
  rule.results = {result};
  return rule;
}

PartialRule TileOp::partialRule() { return PartialRule::Moves; }

} // namespace shardc::onnx
