//===- RotaryPairs.cpp - Spellings of a rotation --------------------------===//

#include "passes/import/rotary/RotaryPairs.h"

#include "dialects/onnx/ops/Arithmetic.h"
#include "dialects/onnx/ops/Indexing.h"
#include "dialects/onnx/ops/Layout.h"
#include "dialects/onnx/ops/Math.h"
#include "dialects/onnx/ops/Source.h"
#include "passes/import/Matching.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace shardc::import {

using dist::DimExpr;
using namespace onnx;

static std::optional<LastDimPart> slicePart(SliceOp slice) {
  dist::DimsAttr bounds = slice.getBoundsAttr();
  if (!bounds)
    return std::nullopt;
  Dims from = dimsOf(slice.getData()), to = dimsOf(slice);
  for (size_t d = 0; d < from.size(); ++d) {
    bool isLast = d + 1 == from.size();
    int64_t step = slice.getSteps() ? (*slice.getSteps())[d] : 1;
    bool isWhole =
        from[d] == to[d] && bounds.getValues()[d].isConstant(0) && step == 1;
    if (isLast ? step < 1 : !isWhole)
      return std::nullopt;
  }
  return LastDimPart{slice.getData(), bounds.getValues().back(),
                     slice.getSteps() ? slice.getSteps()->back() : 1};
}

/// Column k of rows of w elements, which is every w-th element from k on.
static std::optional<LastDimPart> columnPart(ReshapeOp merged) {
  auto slice = merged.getData().getDefiningOp<SliceOp>();
  auto rows = slice ? slice.getData().getDefiningOp<ReshapeOp>() : ReshapeOp();
  auto column = rows ? slicePart(slice) : std::nullopt;
  if (!column)
    return std::nullopt;
  Dims dims = dimsOf(merged), one = dims, all = dims, whole = dims;
  std::optional<int64_t> width = dimsOf(rows).back().asConstant();
  one.push_back(1);
  all.push_back(dimsOf(rows).back());
  if (!width || dims.empty() || dimsOf(slice) != one || dimsOf(rows) != all)
    return std::nullopt;
  whole.back() = whole.back() * *width;
  if (dimsOf(rows.getData()) != whole)
    return std::nullopt;
  return LastDimPart{rows.getData(), column->start, *width};
}

std::optional<LastDimPart> lastDimPart(Value value) {
  if (auto merged = value.getDefiningOp<ReshapeOp>())
    return columnPart(merged);
  if (auto slice = value.getDefiningOp<SliceOp>())
    return slicePart(slice);
  auto split = value.getDefiningOp<SplitOp>();
  int64_t last = dimsOf(value).size() - 1;
  if (!split || int64_t(split.getAxis()) != last)
    return std::nullopt;
  DimExpr start = 0;
  for (Value part : split->getResults()) {
    if (part == value)
      break;
    start = start + dimsOf(part).back();
  }
  return LastDimPart{split.getData(), start, 1};
}

/// Finds the value whose halves, or whose even and odd elements, a and b are.
static void findInput(Rotation &rotation) {
  auto a = lastDimPart(rotation.first), b = lastDimPart(rotation.second);
  if (!a || !b || !isSame(a->source, b->source) || a->step != b->step ||
      !a->start.isConstant(0))
    return;
  DimExpr half = dimsOf(rotation.first).back();
  if (dimsOf(rotation.second).back() != half ||
      dimsOf(a->source).back() != half * 2)
    return;
  rotation.isInterleaved = a->step == 2;
  if (rotation.isInterleaved ? b->start.isConstant(1)
                             : a->step == 1 && b->start == half)
    rotation.input = a->source;
}

/// The two operands that a Concat puts behind each other along the last dim or,
/// stacked and merged by Reshapes, beside each other.
static bool readConcat(Operation *op, Value &first, Value &second,
                       bool &isInterleaved) {
  auto merged = dyn_cast<ReshapeOp>(op);
  auto concat = merged ? merged.getData().getDefiningOp<ConcatOp>()
                       : dyn_cast<ConcatOp>(op);
  if (!concat || concat->getNumOperands() != 2 ||
      concat.getAxis() + 1 != dimsOf(concat).size())
    return false;
  isInterleaved = bool(merged);
  first = concat->getOperand(0);
  second = concat->getOperand(1);
  if (!isInterleaved)
    return dimsOf(first) == dimsOf(second);
  Dims to = dimsOf(merged);
  for (Value *part : {&first, &second}) {
    auto stood = part->getDefiningOp<ReshapeOp>();
    if (!stood)
      return false;
    Dims dims = dimsOf(stood.getData()), column = dims;
    column.push_back(1);
    dims.back() = dims.back() * 2;
    if (dimsOf(*part) != column || dims != to)
      return false;
    *part = stood.getData();
  }
  return true;
}

/// x cos + r(x) sin.
static std::optional<Rotation> readWhole(AddOp add) {
  for (unsigned i : {0u, 1u}) {
    auto straight = add->getOperand(i).getDefiningOp<MulOp>();
    auto turned = add->getOperand(1 - i).getDefiningOp<MulOp>();
    for (unsigned j : {0u, 1u}) {
      Operation *turn =
          straight && turned ? turned->getOperand(j).getDefiningOp() : nullptr;
      Rotation rotation;
      bool isBeside = false;
      Value negated;
      if (!turn || !isa<ConcatOp, ReshapeOp>(turn) ||
          !readConcat(turn, negated, rotation.first, isBeside))
        continue;
      auto neg = negated.getDefiningOp<NegOp>();
      if (!neg)
        continue;
      rotation.second = neg.getInput();
      findInput(rotation);
      // Tables of more rows or batches than it has would repeat it.
      if (!rotation.input || rotation.isInterleaved != isBeside ||
          !haveSameDims(rotation.input, add))
        continue;
      bool isLeft = isSame(straight.getLhs(), rotation.input);
      if (!isLeft && !isSame(straight.getRhs(), rotation.input))
        continue;
      rotation.cos = straight->getOperand(isLeft ? 1 : 0);
      rotation.sin = turned->getOperand(1 - j);
      rotation.isTwice = true;
      return rotation;
    }
  }
  return std::nullopt;
}

/// Is `value` the product of those two?
static bool isProduct(Value value, Value a, Value b) {
  auto mul = value.getDefiningOp<MulOp>();
  return mul && ((isSame(mul.getLhs(), a) && isSame(mul.getRhs(), b)) ||
                 (isSame(mul.getLhs(), b) && isSame(mul.getRhs(), a)));
}

/// a cos - b sin and b cos + a sin, joined.
static std::optional<Rotation> readPairs(Operation *op) {
  Value left, right;
  bool isBeside = false;
  if (!readConcat(op, left, right, isBeside))
    return std::nullopt;
  auto sub = left.getDefiningOp<SubOp>();
  auto add = right.getDefiningOp<AddOp>();
  auto ac = sub ? sub.getLhs().getDefiningOp<MulOp>() : MulOp();
  auto bs = sub ? sub.getRhs().getDefiningOp<MulOp>() : MulOp();
  if (!add || !ac || !bs)
    return std::nullopt;
  for (unsigned i : {0u, 1u})
    for (unsigned j : {0u, 1u}) {
      Rotation rotation{{},
                        ac->getOperand(i),
                        bs->getOperand(j),
                        ac->getOperand(1 - i),
                        bs->getOperand(1 - j),
                        false,
                        isBeside};
      auto is = [&](unsigned k) {
        return isProduct(add->getOperand(k), rotation.second, rotation.cos) &&
               isProduct(add->getOperand(1 - k), rotation.first, rotation.sin);
      };
      // Of the two factors the one with the result's dims is no cosine.
      if (!haveSameDims(rotation.first, left) ||
          !haveSameDims(rotation.second, left) || !(is(0) || is(1)))
        continue;
      findInput(rotation);
      if (rotation.input && rotation.isInterleaved != isBeside)
        rotation.input = {};
      rotation.isInterleaved = isBeside;
      return rotation;
    }
  return std::nullopt;
}

std::optional<Rotation> readRotation(Operation *op) {
  if (auto add = dyn_cast<AddOp>(op))
    return readWhole(add);
  return isa<ConcatOp, ReshapeOp>(op) ? readPairs(op) : std::nullopt;
}

/// Half of a constant whose elements are there twice.
static Value halfConstant(OpBuilder &builder, ConstantOp constant,
                          bool isInterleaved) {
  auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
  Dims dims = dimsOf(constant);
  const int64_t width = dims.empty() ? 0 : dims.back().asConstant().value_or(0);
  if (!elements || !isa<FloatType>(elements.getElementType()) || width == 0 ||
      width % 2 != 0)
    return {};
  SmallVector<APFloat> all(elements.getValues<APFloat>()), half;
  for (int64_t i = 0, n = all.size(); i < n; ++i) {
    int64_t column = i % width;
    bool isFirst = isInterleaved ? column % 2 == 0 : column < width / 2;
    if (!isFirst)
      continue;
    if (!all[i].bitwiseIsEqual(all[isInterleaved ? i + 1 : i + width / 2]))
      return {};
    half.push_back(all[i]);
  }
  SmallVector<int64_t> shape(elements.getType().getShape());
  shape.back() = width / 2;
  auto type = RankedTensorType::get(shape, elements.getType().getElementType());
  return ConstantOp::create(builder, constant.getLoc(), type,
                            DenseElementsAttr::get(type, half));
}

/// f for f behind itself, or each of its elements beside its copy.
static Value doubled(Value value, bool isInterleaved) {
  Dims dims = dimsOf(value);
  if (auto concat = value.getDefiningOp<ConcatOp>())
    return !isInterleaved && concat->getNumOperands() == 2 &&
                   concat.getAxis() + 1 == dims.size() &&
                   isSame(concat->getOperand(0), concat->getOperand(1))
               ? concat->getOperand(0)
               : Value();
  auto merged = value.getDefiningOp<ReshapeOp>();
  auto expand =
      merged ? merged.getData().getDefiningOp<ExpandOp>() : ExpandOp();
  auto column =
      expand ? expand.getData().getDefiningOp<ReshapeOp>() : ReshapeOp();
  if (!isInterleaved || !column)
    return {};
  Dims once = dimsOf(column.getData()), stood = once, two = once, twice = once;
  stood.push_back(1);
  two.push_back(2);
  twice.back() = twice.back() * 2;
  return dimsOf(column) == stood && dimsOf(expand) == two && dims == twice
             ? column.getData()
             : Value();
}

/// One half of a weight, or every other element, where the other is the same.
static Value halfWeight(OpBuilder &builder, WeightOp weight,
                        bool isInterleaved) {
  if (weight.getPattern() != (isInterleaved ? "pairs" : "halves"))
    return {};
  Dims dims = dimsOf(weight), starts(dims.size());
  dims.back() = *dims.back().exactDiv(2);
  SmallVector<int64_t> steps(dims.size(), 1);
  steps.back() = isInterleaved ? 2 : 1;
  return SliceOp::create(
      builder, weight.getLoc(), dist::makeType(elementOf(weight), dims), weight,
      ValueRange{}, DenseI64ArrayAttr(), DenseI64ArrayAttr(),
      DenseI64ArrayAttr(), dist::DimsAttr::get(builder.getContext(), starts),
      builder.getDenseI64ArrayAttr(steps));
}

/// Are the op's rows of the last dim, where that has the same size, rows of its
/// operand?
static bool movesRows(Operation *op) {
  if (auto gather = dyn_cast<GatherOp>(op))
    return gather.getAxis() + 1 < dimsOf(gather.getData()).size();
  auto slice = dyn_cast<SliceOp>(op);
  dist::DimsAttr bounds = slice ? slice.getBoundsAttr() : dist::DimsAttr();
  return bounds ? bounds.getValues().back().isConstant(0) &&
                      (!slice.getSteps() || slice.getSteps()->back() == 1)
                : isa<ReshapeOp>(op);
}

/// Is it a product of its first operand and one number, which a half of that
/// operand can be multiplied by as well?
static bool isScaled(Operation *op) {
  if (!isa_and_nonnull<MulOp, DivOp>(op) || !splatConstant(op->getOperand(1)))
    return false;
  Dims factor = dimsOf(op->getOperand(1));
  return factor.empty() || factor.back().isConstant(1);
}

/// What computes a table is a few ops behind what holds it.
constexpr unsigned kMaxTableOps = 32;

static Value onceEach(OpBuilder &builder, Value value, bool isInterleaved,
                      unsigned depth) {
  if (depth == kMaxTableOps)
    return {};
  if (Value once = doubled(value, isInterleaved))
    return once;
  Operation *op = value.getDefiningOp();
  if (auto constant = dyn_cast_or_null<ConstantOp>(op))
    return halfConstant(builder, constant, isInterleaved);
  if (auto weight = dyn_cast_or_null<WeightOp>(op))
    return halfWeight(builder, weight, isInterleaved);
  Dims dims = dimsOf(value);
  bool isMoved = op && movesRows(op);
  if (!(isMoved || isa_and_nonnull<CastOp, CosOp, SinOp>(op) || isScaled(op)) ||
      dims.empty() || dimsOf(op->getOperand(0)).empty() ||
      dimsOf(op->getOperand(0)).back() != dims.back())
    return {};
  Value once = onceEach(builder, op->getOperand(0), isInterleaved, depth + 1);
  if (!once)
    return {};
  dims.back() = dimsOf(once).back();
  IRMapping mapping;
  mapping.map(op->getOperand(0), once);
  Operation *half = builder.clone(*op, mapping);
  half->getResult(0).setType(dist::makeType(elementOf(value), dims));
  return half->getResult(0);
}

Value onceEach(OpBuilder &builder, Value value, bool isInterleaved) {
  return onceEach(builder, value, isInterleaved, 0);
}

} // namespace shardc::import
