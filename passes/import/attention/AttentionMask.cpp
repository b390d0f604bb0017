//===- AttentionMask.cpp - What a mask hides ------------------------------===//

#include "passes/import/attention/AttentionMask.h"

#include "dialects/onnx/ops/Arithmetic.h"
#include "dialects/onnx/ops/Layout.h"
#include "dialects/onnx/ops/Logic.h"
#include "dialects/onnx/ops/Source.h"
#include "passes/import/Matching.h"
#include "passes/import/layout/IndexForm.h"

using namespace mlir;

namespace shardc::import {

using dist::DimExpr;
using namespace onnx;

/// Constants with more elements are not read.
constexpr int64_t kMaxPositions = 1 << 16;

std::optional<Position> positionOf(Value value) {
  std::optional<IndexForm> form = indexFormOf(value);
  if (!form)
    return std::nullopt;
  int64_t last[2] = {0, 0};
  for (auto [i, coefficient] :
       llvm::enumerate(llvm::reverse(form->coefficients))) {
    std::optional<int64_t> known = coefficient.asConstant();
    if (!known || (i > 1 && *known != 0))
      return std::nullopt;
    if (i < 2)
      last[i] = *known;
  }
  return Position{last[0], last[1], form->offset};
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
  if (!values || !size || dist::product(dims) != DimExpr(*size) * *size ||
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
      dist::DimsAttr bounds = slice.getBoundsAttr();
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

  /// Each condition once, from left to right, however many And share it.
  void read(Value whole) {
    SmallVector<Value> open{whole};
    llvm::DenseSet<Value> seen;
    while (!open.empty()) {
      Value condition = open.pop_back_val();
      if (!seen.insert(condition).second || splatInteger(condition) == 1 ||
          addBound(condition))
        continue;
      if (auto both = condition.getDefiningOp<AndOp>())
        open.append({both.getRhs(), both.getLhs()});
      else
        visibility.rest.push_back(condition);
    }
  }

  Visibility visibility;

private:
  /// Adds the bound that `condition` is; false if it is none.
  bool addBound(Value condition);
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

bool ConditionReader::addBound(Value condition) {
  bool isNegated = false;
  for (; auto negation = condition.getDefiningOp<NotOp>(); isNegated ^= true)
    condition = negation.getInput();
  Operation *op = condition.getDefiningOp();
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
  const DimExpr ofKey = DimExpr(low->keys) - high->keys;
  const DimExpr ofQuery = DimExpr(low->queries) - high->queries;
  DimExpr rest = high->offset - low->offset - DimExpr(int64_t(isStrict));
  bool isUpper = ofKey.isConstant(1) && ofQuery.isConstant(-1);
  if (!isUpper && !(ofKey.isConstant(-1) && ofQuery.isConstant(1)))
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
