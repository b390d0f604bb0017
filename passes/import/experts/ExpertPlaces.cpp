//===- ExpertPlaces.cpp - Where one expert was chosen ---------------------===//

#include "passes/import/experts/ExpertPlaces.h"

#include "dialects/onnx/ops/Arithmetic.h"
#include "dialects/onnx/ops/Indexing.h"
#include "dialects/onnx/ops/Layout.h"
#include "dialects/onnx/ops/Logic.h"
#include "dialects/onnx/ops/Reduction.h"
#include "dialects/onnx/ops/Source.h"
#include "passes/import/Matching.h"
#include "passes/import/attention/AttentionMask.h"

using namespace mlir;

namespace shardc::import {

using dist::DimExpr;
using namespace onnx;

/// The value with all its elements in the same order, and dims of size 1
/// elsewhere.
static Value withoutMoves(Value value) {
  auto isOne = [](DimExpr size) { return size.isConstant(1); };
  while (true) {
    if (auto reshape = value.getDefiningOp<ReshapeOp>()) {
      Dims from = dimsOf(reshape.getData()), to = dimsOf(value);
      llvm::erase_if(from, isOne);
      llvm::erase_if(to, isOne);
      if (from != to)
        return value;
      value = reshape.getData();
      continue;
    }
    auto transpose = value.getDefiningOp<TransposeOp>();
    if (!transpose || !transpose.getPerm())
      return value;
    const Dims from = dimsOf(transpose.getData());
    SmallVector<int64_t> order(*transpose.getPerm());
    llvm::erase_if(order, [&](int64_t d) { return isOne(from[d]); });
    if (!llvm::is_sorted(order))
      return value;
    value = transpose.getData();
  }
}

/// The column of [count, 2] that a Split or a Slice takes.
static Value wholeOfColumn(Value value, unsigned column) {
  if (auto split = value.getDefiningOp<SplitOp>())
    return split.getAxis() == 1 && split->getNumResults() == 2 &&
                   split->getResult(column) == value
               ? split.getData()
               : Value();
  auto slice = value.getDefiningOp<SliceOp>();
  dist::DimsAttr bounds = slice ? slice.getBoundsAttr() : dist::DimsAttr();
  if (!bounds || !slice.getSteps() ||
      *slice.getSteps() != ArrayRef<int64_t>{1, 1} ||
      bounds.getValues() != ArrayRef<DimExpr>{0, int64_t(column)} ||
      dimsOf(value) != Dims{dimsOf(slice.getData())[0], 1})
    return {};
  return slice.getData();
}

/// The rows, or columns, of a NonZero of two dims, as [count] or [count, 1].
static NonZeroOp nonZeroPart(Value value, unsigned part) {
  auto reshape = value.getDefiningOp<ReshapeOp>();
  if (reshape && dimsOf(reshape.getData()).size() == 2)
    value = reshape.getData();
  Value whole = wholeOfColumn(value, part);
  auto moved = whole ? whole.getDefiningOp<TransposeOp>() : TransposeOp();
  if (!moved || *moved.getPerm() != ArrayRef<int64_t>{1, 0})
    return {};
  return moved.getData().getDefiningOp<NonZeroOp>();
}

/// An element of a small constant.
static std::optional<int64_t> constantOf(Value value) {
  if (auto number = splatInteger(value))
    return number;
  if (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getData();
  auto slice = value.getDefiningOp<SliceOp>();
  dist::DimsAttr bounds = slice ? slice.getBoundsAttr() : dist::DimsAttr();
  auto constant =
      slice ? slice.getData().getDefiningOp<ConstantOp>() : ConstantOp();
  auto known = constant ? readKnown(constant.getValue(), 16) : std::nullopt;
  auto all =
      known && known->shape.size() == 1 ? known->asConstants() : std::nullopt;
  auto start = bounds && bounds.getValues().size() == 1
                   ? bounds.getValues()[0].asConstant()
                   : std::nullopt;
  if (!all || !start || *start < 0 || *start >= int64_t(all->size()) ||
      !dimsOf(slice)[0].isConstant(1))
    return std::nullopt;
  return (*all)[*start];
}

/// The condition of what is 1 where it holds, else 0.
static Value readIndicator(Value value) {
  if (auto cast = value.getDefiningOp<CastOp>())
    return elementOf(cast.getInput()).isInteger(1) ? cast.getInput() : Value();
  auto choice = value.getDefiningOp<WhereOp>();
  return choice && constantOf(choice.getThenValue()) == 1 &&
                 constantOf(choice.getElseValue()) == 0 &&
                 haveSameDims(choice, choice.getCondition())
             ? choice.getCondition()
             : Value();
}

/// 1 where choices [n, k] equal the position along a last dim of experts, else
/// 0, from a router's choices, which are none of the negative ones that may be
/// allowed for: the choices.
static Value readOneHot(Value value, int64_t &numExperts) {
  Value condition = readIndicator(value);
  if (!condition)
    return {};
  Dims dims = dimsOf(condition);
  auto readEqual = [&](Value side) -> Value {
    auto equal = side.getDefiningOp<EqualOp>();
    auto position = equal ? positionOf(equal.getRhs()) : std::nullopt;
    bool counts = position && position->keys == 1 && position->queries == 0 &&
                  position->offset.isConstant(0) &&
                  dimsOf(equal.getRhs()).back() == dims.back();
    return counts && dims.size() == 3 ? equal.getLhs() : Value();
  };
  std::optional<int64_t> experts = dims.back().asConstant();
  if (!experts)
    return {};
  if (auto either = condition.getDefiningOp<OrOp>()) {
    Value negative = readEqual(either.getRhs());
    auto add = negative ? negative.getDefiningOp<AddOp>() : AddOp();
    condition = either.getLhs();
    if (!add || splatInteger(add.getRhs()) != *experts ||
        add.getLhs() != readEqual(condition))
      return {};
  }
  Value column = readEqual(condition);
  Value choices = column ? shapedAs(column, {dims[0], dims[1]}) : Value();
  auto router = choices ? choices.getDefiningOp<TopKOp>() : TopKOp();
  if (!router || choices != router.getIndices() ||
      dimsOf(router.getData())[router.getAxis()] != dims.back() ||
      router.getAxis() != 1)
    return {};
  numExperts = *experts;
  return choices;
}

std::optional<ExpertPlaces> placesOf(Value tokens) {
  ExpertPlaces places;
  while (!(places.found = nonZeroPart(tokens, places.token)))
    if (++places.token == 2)
      return std::nullopt;
  Value chosen = places.found.getData();
  if (auto cast = chosen.getDefiningOp<CastOp>())
    chosen = cast.getInput();
  auto one = chosen.getDefiningOp<GatherOp>();
  auto expert = one ? splatInteger(one.getIndices()) : std::nullopt;
  auto moved = one ? one.getData().getDefiningOp<TransposeOp>() : TransposeOp();
  SmallVector<int64_t> perm = {2, places.token, 1 - places.token};
  if (!expert || one.getAxis() != 0 || dimsOf(one).size() != 2 || !moved ||
      *moved.getPerm() != ArrayRef<int64_t>(perm))
    return std::nullopt;
  places.expert = *expert;
  places.indices = readOneHot(moved.getData(), places.numExperts);
  return places.indices ? std::optional(places) : std::nullopt;
}

/// Whether a value is the part of places that is, or is not, the token.
static bool isPart(const ExpertPlaces &places, Value value, bool isToken) {
  return nonZeroPart(value, isToken ? places.token : 1 - places.token) ==
         places.found;
}

Value tokensAt(const ExpertPlaces &places, Value rows) {
  if (dimsOf(rows).size() != 2)
    return {};
  const DimExpr width = dimsOf(rows)[1];
  Operation *op = withoutMoves(rows).getDefiningOp();
  size_t axis = 0;
  if (auto gather = dyn_cast_or_null<GatherOp>(op))
    axis = gather.getAxis();
  else if (auto gather = dyn_cast_or_null<GatherNDOp>(op);
           !gather || gather.getBatchDims() != 0 ||
           !dimsOf(gather.getIndices()).back().isConstant(1))
    return {};
  const Dims dims = dimsOf(op->getOperand(0));
  if (!isPart(places, op->getOperand(1), /*isToken=*/true) ||
      axis + 1 >= dims.size() || dims.back() != width)
    return {};
  for (size_t d = 0; d + 1 < dims.size(); ++d)
    if (d != axis && !dims[d].isConstant(1))
      return {};
  return withoutMoves(op->getOperand(0));
}

/// Of weights [n k, 1], or of [n, k] beside each other.
Value weightsAt(const ExpertPlaces &places, Value weights) {
  const Dims dims = dimsOf(places.indices);
  weights = withoutMoves(weights);
  if (auto gather = weights.getDefiningOp<GatherNDOp>()) {
    auto place = gather.getIndices().getDefiningOp<ConcatOp>();
    return place && gather.getBatchDims() == 0 && place.getAxis() == 1 &&
                   place->getNumOperands() == 2 &&
                   isPart(places, place->getOperand(0), /*isToken=*/true) &&
                   isPart(places, place->getOperand(1), /*isToken=*/false)
               ? shapedAs(gather.getData(), dims)
               : Value();
  }
  auto gather = weights.getDefiningOp<GatherOp>();
  auto add = gather ? gather.getIndices().getDefiningOp<AddOp>() : AddOp();
  if (!add || gather.getAxis() != 0 ||
      dimsOf(gather.getData()) != Dims{dims[0] * dims[1], 1})
    return {};
  for (unsigned i : {0u, 1u}) {
    auto mul = add->getOperand(i).getDefiningOp<MulOp>();
    auto width = mul ? splatInteger(mul.getRhs()) : std::nullopt;
    if (width && dims[1].isConstant(*width) &&
        isPart(places, mul.getLhs(), /*isToken=*/true) &&
        isPart(places, add->getOperand(1 - i), /*isToken=*/false))
      return shapedAs(gather.getData(), dims);
  }
  return {};
}

/// Reads a sum of what is cast to integers.
static Operation *readOfSum(Value value) {
  for (Operation *user : value.getUsers()) {
    if (isa<ReadSizesOp>(user))
      return user;
    if (isa<CastOp, ReduceSumOp>(user))
      if (Operation *read = readOfSum(user->getResult(0)))
        return read;
  }
  return nullptr;
}

Operation *countOf(const ExpertPlaces &places) {
  return readOfSum(places.found->getOperand(0));
}

} // namespace shardc::import
