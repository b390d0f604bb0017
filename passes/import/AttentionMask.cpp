//===- AttentionMask.cpp - What a mask hides ------------------------------===//

#include "passes/import/AttentionMask.h"

#include "dialects/onnx/ops/Arithmetic.h"
#include "dialects/onnx/ops/Layout.h"
#include "dialects/onnx/ops/Logic.h"
#include "dialects/onnx/ops/Source.h"
#include "passes/import/Matching.h"

using namespace mlir;

namespace shardc::import {

using dist::DimExpr;
using namespace onnx;

/// Constants with more elements are not read.
constexpr int64_t kMaxPositions = 1 << 16;

/// The value of a tensor of one element that is known symbolically.
static std::optional<DimExpr> scalarOf(Value value) {
  if (product(dimsOf(value)) != DimExpr(1))
    return std::nullopt;
  if (std::optional<int64_t> constant = splatInteger(value))
    return DimExpr(*constant);
  auto symbols = value.getDefiningOp<SymbolsOp>();
  auto dims = symbols ? dyn_cast<dist::DimsAttr>(symbols.getValues())
                      : dist::DimsAttr();
  return dims ? std::optional<DimExpr>(dims.getValues()[0]) : std::nullopt;
}

/// Index from the end of the only dim that is not 1.
static std::optional<unsigned> onlyDim(ArrayRef<DimExpr> dims) {
  std::optional<unsigned> found;
  for (auto [d, size] : llvm::enumerate(dims)) {
    if (size.isConstant(1))
      continue;
    if (found)
      return std::nullopt;
    found = dims.size() - 1 - d;
  }
  return found;
}

/// Positions that a Reshape stands along another dim.
static std::optional<Position> reshaped(ReshapeOp op) {
  std::optional<Position> position = positionOf(op.getData());
  Dims from = dimsOf(op.getData()), to = dimsOf(op);
  std::optional<unsigned> source = onlyDim(from), target = onlyDim(to);
  if (!position || !source || !target || *target > 1 ||
      from[from.size() - 1 - *source] != to[to.size() - 1 - *target])
    return std::nullopt;
  int coefficient = position->keys + position->queries; // one of them is 0
  return Position{*target == 0 ? coefficient : 0,
                  *target == 1 ? coefficient : 0, position->offset};
}

/// Positions that an Expand repeats along other dims.
static std::optional<Position> expanded(ExpandOp op) {
  std::optional<Position> position = positionOf(op.getData());
  Dims from = dimsOf(op.getData()), to = dimsOf(op);
  if (!position)
    return std::nullopt;
  auto isRepeated = [&](size_t place) {
    return from[from.size() - place] != to[to.size() - place];
  };
  if ((position->keys != 0 && isRepeated(1)) ||
      (position->queries != 0 && isRepeated(2)))
    return std::nullopt;
  return position;
}

static std::optional<Position> counted(RangeOp op) {
  auto bounds = op.getBounds() ? dyn_cast<dist::DimsAttr>(*op.getBounds())
                               : dist::DimsAttr();
  if (!bounds || !bounds.getValues()[1].isConstant(1) ||
      !isa<IntegerType>(elementOf(op)))
    return std::nullopt;
  return Position{dimsOf(op)[0].isConstant(1) ? 0 : 1, 0,
                  bounds.getValues()[0]};
}

/// The same where the number of positions is known.
static std::optional<Position> listed(ConstantOp op) {
  Dims dims = dimsOf(op);
  std::optional<unsigned> place = onlyDim(dims);
  auto known = readKnown(op.getValue(), kMaxPositions);
  auto values =
      known && place && *place <= 1 ? known->asConstants() : std::nullopt;
  if (!values)
    return std::nullopt;
  for (auto [i, element] : llvm::enumerate(*values))
    if (element != values->front() + int64_t(i))
      return std::nullopt;
  return Position{*place == 0, *place == 1, values->front()};
}

std::optional<Position> positionOf(Value value) {
  if (auto scalar = scalarOf(value))
    return Position{0, 0, *scalar};
  Operation *op = value.getDefiningOp();
  if (auto range = dyn_cast_or_null<RangeOp>(op))
    return counted(range);
  if (auto constant = dyn_cast_or_null<ConstantOp>(op))
    return listed(constant);
  if (auto reshape = dyn_cast_or_null<ReshapeOp>(op))
    return reshaped(reshape);
  if (auto expand = dyn_cast_or_null<ExpandOp>(op))
    return expanded(expand);
  if (!op || !isa<AddOp, SubOp>(op))
    return std::nullopt;
  std::optional<Position> lhs = positionOf(op->getOperand(0));
  std::optional<Position> rhs =
      lhs ? positionOf(op->getOperand(1)) : std::nullopt;
  if (!rhs)
    return std::nullopt;
  int64_t sign = isa<AddOp>(op) ? 1 : -1;
  return Position{lhs->keys + int(sign) * rhs->keys,
                  lhs->queries + int(sign) * rhs->queries,
                  lhs->offset + rhs->offset * sign};
}

/// Is element [i, j] of the last dims 1 where j <= i, else 0?
static bool isTriangle(Value value) {
  if (auto weight = value.getDefiningOp<WeightOp>())
    return weight.getPattern() == "triangle";
  auto constant = value.getDefiningOp<ConstantOp>();
  auto known =
      constant ? readKnown(constant.getValue(), kMaxPositions) : std::nullopt;
  auto values = known ? known->asConstants() : std::nullopt;
  Dims dims = dimsOf(value);
  std::optional<int64_t> size =
      dims.size() < 2 ? std::nullopt : dims.back().asConstant();
  if (!values || !size || dist::product(dims) != *size * *size ||
      dims[dims.size() - 2] != *size)
    return false;
  for (auto [at, element] : llvm::enumerate(*values))
    if (element != int64_t(int64_t(at) % *size <= int64_t(at) / *size))
      return false;
  return true;
}

/// b, if the condition is key <= query + b, as part of a stored triangle:
/// rows from r and columns from c on show key + c <= query + r.
static std::optional<DimExpr> triangleBound(Value condition) {
  DimExpr bound = 0;
  for (;; condition = condition.getDefiningOp()->getOperand(0)) {
    Dims dims = dimsOf(condition);
    if (isTriangle(condition))
      return bound;
    if (auto slice = condition.getDefiningOp<SliceOp>()) {
      auto bounds = slice.getBounds()
                        ? dyn_cast<dist::DimsAttr>(*slice.getBounds())
                        : dist::DimsAttr();
      if (!bounds || dims.size() < 2 ||
          (slice.getSteps() &&
           llvm::any_of(*slice.getSteps(), [](int64_t s) { return s != 1; })))
        return std::nullopt;
      ArrayRef<DimExpr> starts = bounds.getValues();
      bound = bound + starts[starts.size() - 2] - starts.back();
    } else if (auto reshape = condition.getDefiningOp<ReshapeOp>()) {
      Dims from = dimsOf(reshape.getData());
      auto isOne = [](DimExpr size) { return size.isConstant(1); };
      while (from.size() > 2 && isOne(from.front()))
        from.erase(from.begin());
      while (dims.size() > 2 && isOne(dims.front()))
        dims.erase(dims.begin());
      if (from != dims)
        return std::nullopt;
    } else if (auto cast = condition.getDefiningOp<CastOp>();
               !cast || !isa<IntegerType>(elementOf(cast.getInput()))) {
      return std::nullopt;
    }
  }
}

namespace {

/// Takes a condition apart.
class ConditionReader {
public:
  ConditionReader(DimExpr queries, DimExpr keys)
      : queries(queries), keys(keys) {}

  void read(Value condition) {
    if (splatInteger(condition) == 1 || addBound(condition, false))
      return;
    if (auto both = condition.getDefiningOp<AndOp>()) {
      read(both.getLhs());
      read(both.getRhs());
    } else if (!llvm::is_contained(visibility.rest, condition)) {
      visibility.rest.push_back(condition);
    }
  }

  Visibility visibility;

private:
  /// Adds the bound that `condition`, or its opposite, is; false if none.
  bool addBound(Value condition, bool isNegated);
  /// False where another bound is known, which is not the same.
  static bool setBound(std::optional<DimExpr> &bound, DimExpr value) {
    if (bound && *bound != value)
      return false;
    bound = value;
    return true;
  }

  DimExpr queries, keys;
};

} // namespace

bool ConditionReader::addBound(Value condition, bool isNegated) {
  Operation *op = condition.getDefiningOp();
  if (auto negation = dyn_cast_or_null<NotOp>(op))
    return addBound(negation.getInput(), !isNegated);
  Dims dims = dimsOf(condition);
  if (!op || dims.size() < 2 || dims.back() != keys ||
      dims[dims.size() - 2] != queries)
    return false;
  if (std::optional<DimExpr> upper = triangleBound(condition))
    return isNegated ? setBound(visibility.lower, *upper + 1)
                     : setBound(visibility.upper, *upper);
  if (!isa<LessOp, LessOrEqualOp, GreaterOp, GreaterOrEqualOp>(op))
    return false;
  bool isSwapped = isa<GreaterOp, GreaterOrEqualOp>(op) != isNegated;
  bool isStrict = isa<LessOp, GreaterOp>(op) != isNegated;
  std::optional<Position> low = positionOf(op->getOperand(isSwapped ? 1 : 0));
  std::optional<Position> high = positionOf(op->getOperand(isSwapped ? 0 : 1));
  if (!low || !high)
    return false;
  // low <= high - isStrict
  int ofKey = low->keys - high->keys, ofQuery = low->queries - high->queries;
  DimExpr rest = high->offset - low->offset - DimExpr(int64_t(isStrict));
  bool isUpper = ofKey == 1 && ofQuery == -1;
  if (!isUpper && !(ofKey == -1 && ofQuery == 1))
    return false;
  return isUpper ? setBound(visibility.upper, rest)
                 : setBound(visibility.lower, rest * -1);
}

Visibility visibilityOf(Value condition, DimExpr queries, DimExpr keys) {
  ConditionReader reader(queries, keys);
  reader.read(condition);
  return reader.visibility;
}

std::optional<Dims> broadcastDims(ArrayRef<DimExpr> a, ArrayRef<DimExpr> b) {
  ArrayRef<DimExpr> larger = a.size() < b.size() ? b : a;
  ArrayRef<DimExpr> smaller = a.size() < b.size() ? a : b;
  Dims result(larger);
  size_t added = larger.size() - smaller.size();
  for (auto [d, size] : llvm::enumerate(smaller)) {
    DimExpr &dim = result[added + d];
    if (dim != size && !dim.isConstant(1) && !size.isConstant(1))
      return std::nullopt;
    dim = dim.isConstant(1) ? size : dim;
  }
  return result;
}

Value conjunction(OpBuilder &builder, Location loc,
                  ArrayRef<Value> conditions) {
  Value result;
  for (Value condition : conditions) {
    if (!result) {
      result = condition;
      continue;
    }
    auto dims = broadcastDims(dimsOf(result), dimsOf(condition));
    if (!dims)
      return {};
    result =
        AndOp::create(builder, loc, dist::makeType(builder.getI1Type(), *dims),
                      result, condition);
  }
  return result;
}

} // namespace shardc::import
