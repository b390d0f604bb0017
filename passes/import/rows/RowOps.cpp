//===- RowOps.cpp - Ops that count positions, or keys ---------------------===//
//
// What RowTranslation.cpp does not leave as it is:
//
//   Range past, past + sequence     the position of each token
//   Trilu [sequence, past + ..]     by place of token and key
//   ReduceSum over keys             of those that a row has
//   a value of rows                 the same op with a leading dim
//
//===----------------------------------------------------------------------===//

#include "dialects/onnx/ops/Arithmetic.h"
#include "dialects/onnx/ops/Layout.h"
#include "dialects/onnx/ops/Logic.h"
#include "dialects/onnx/ops/Reduction.h"
#include "passes/import/rows/RowTranslation.h"

#include <limits>

using namespace mlir;

namespace shardc::import {

using dist::DimExpr;
using onnx::RowSymbols;
using namespace onnx;

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

/// start + i * step for the i-th token of each row.
LogicalResult RowTranslation::translateRange(RangeOp op, Tokens &tokens) {
  dist::DimsAttr bounds = op.getBoundsAttr();
  const DimExpr size = dimsOf(op.getResult())[0];
  const auto step = bounds ? bounds.getValues()[1].asConstant() : std::nullopt;
  if (!step || size != sizes.sequence)
    return refuse(op, "it counts something else than the new positions");
  const Type i64 = builder.getI64Type(), element = elementOf(op.getResult());
  const DimExpr start = bounds.getValues()[0];
  const Dims dims{tokens.set.size};
  Value &made = tokens.values[op.getResult()];
  if (start == sizes.past && *step == 1) {
    made = rows.cast(tokens.set.position, element);
    return success();
  }
  Value from = rows.ofRows(start);
  if (!from)
    return refuse(op, "it starts at " + start.str());
  Value index = rows.index(tokens.set);
  if (*step != 1)
    index = rows.binary<MulOp>(index, rows.integer(*step), i64, dims);
  made = rows.cast(
      rows.binary<AddOp>(rows.ofTokens(from, tokens.set), index, i64, dims),
      element);
  return success();
}

/// Element [.., token, key] where key is at least token + k, or at most that.
LogicalResult RowTranslation::translateTrilu(TriluOp op, Tokens &tokens) {
  const Type type = op.getResult().getType();
  auto dims = sizesOf(type, tokens.set.size, /*isOfRows=*/false);
  const Dims from = dimsOf(op.getData());
  const size_t rank = from.size();
  if (!dims || from[rank - 2] != sizes.sequence)
    return refuse(op, "its rows are no positions of the sequence");
  const bool areKeys = sizes.isOfKeys(from[rank - 1]);
  if (sizes.isOfEncoder(from[rank - 1]))
    return refuse(op, "its columns are keys of cross-attention");
  if (areKeys && (*dims)[rank - 1] != sizes.keys())
    return refuse(op, "its columns are neither keys nor of one size");
  const Type i64 = builder.getI64Type(), i1 = builder.getI1Type();
  Value diagonal =
      rows.ofRows(op.getBoundsAttr() ? op.getBoundsAttr().getValues()[0]
                                     : DimExpr(int64_t(0)));
  Value data = operandOf(op, op.getData(), tokens);
  if (!diagonal || !data)
    return refuse(op, "its diagonal is no size of the request");
  const Dims ofTokens{tokens.set.size};
  Value first = rows.along(
      rows.binary<AddOp>(rows.index(tokens.set),
                         rows.ofTokens(diagonal, tokens.set), i64, ofTokens),
      2, 0);
  Value key = rows.along(rows.range((*dims)[rank - 1]), 2, 1);
  const Dims pair{tokens.set.size, (*dims)[rank - 1]};
  Value kept = op.getUpper()
                   ? rows.make<GreaterOrEqualOp>(i1, pair, {key, first})
                   : rows.make<LessOrEqualOp>(i1, pair, {key, first});
  const Type element = elementOf(op.getResult());
  tokens.values[op.getResult()] =
      rows.make<WhereOp>(element, *dims, {kept, data, rows.scalar(element, 0)});
  return success();
}

//===----------------------------------------------------------------------===//
// Keys that a row does not have
//===----------------------------------------------------------------------===//

/// What a reduction does not see; nothing where there is none.
static std::optional<double> neutralOf(Operation *op, Type element) {
  if (isa<ReduceSumOp, ReduceL1Op, ReduceL2Op, ReduceSumSquareOp, CumSumOp>(op))
    return 0;
  if (isa<ReduceProdOp>(op))
    return 1;
  const bool isMax = isa<ReduceMaxOp>(op);
  if (!isMax && !isa<ReduceMinOp>(op))
    return std::nullopt;
  if (isa<FloatType>(element))
    return isMax ? -std::numeric_limits<double>::infinity()
                 : std::numeric_limits<double>::infinity();
  if (!element.isSignlessInteger(32) && !element.isSignlessInteger(8))
    return std::nullopt; // what a double does not hold, or without a sign
  const double limit =
      std::ldexp(1.0, int(element.getIntOrFloatBitWidth()) - 1);
  return isMax ? -limit : limit - 1;
}

Value RowTranslation::withoutMissingKeys(Operation *op, Value data,
                                         ArrayRef<int64_t> keyDims,
                                         Tokens *tokens) {
  const Type original = op->getOperand(0).getType();
  const Type element = elementOf(op->getOperand(0));
  const auto neutral = neutralOf(op, element);
  const size_t rank = dist::getDims(original).size();
  const auto at = tokenDim(original);
  const DimExpr size =
      keyDims.size() == 1 ? dist::getDims(original)[keyDims[0]] : DimExpr();
  const bool isOfEncoder = sizes.isOfEncoder(size);
  const DimExpr keys = isOfEncoder ? sizes.encoderKeys() : sizes.keys();
  if (!neutral || keyDims.size() != 1 || sizes.inStep(size) != keys ||
      (tokens && !isOnePerToken(original)))
    return {};
  Value key = rows.along(rows.range(keys), rank, keyDims[0]);
  Value lengths = isOfEncoder ? rows.inputs.encoderLengths : rows.lengths();
  Value length, isThere;
  Dims dims(rank, DimExpr(1));
  if (tokens) {
    length = rows.along(rows.ofTokens(lengths, tokens->set), rank, *at);
    dims[*at] = tokens->set.size;
  } else {
    length = rows.padded(lengths, rank);
    dims.insert(dims.begin(), RowSymbols::rows());
  }
  dims[keyDims[0] + (tokens ? 0 : 1)] = keys;
  isThere = rows.make<LessOp>(builder.getI1Type(), dims, {key, length});
  return rows.make<WhereOp>(element, dimsOf(data),
                            {isThere, data, rows.scalar(element, *neutral)});
}

//===----------------------------------------------------------------------===//
// Values of rows
//===----------------------------------------------------------------------===//

LogicalResult RowTranslation::elementwiseOfRows(Operation *op) {
  Type type = op->getResult(0).getType();
  auto dims = sizesOf(type, all.set.size, /*isOfRows=*/true);
  if (!dims)
    return refuse(op, "its result has the keys before a step as a size");
  if (dividesByKeys(op))
    return refuse(op, "it divides by what a key is, and a row may have no such "
                      "key");
  SmallVector<Value, 4> operands;
  for (Value operand : op->getOperands()) {
    Value value = values.lookup(operand);
    operands.push_back(kindOf(operand) == RowKind::OfRows
                           ? rows.padded(value, dims->size() - 1)
                           : value);
  }
  values[op->getResult(0)] =
      clone(op, operands, dist::makeType(elementOf(op->getResult(0)), *dims));
  return success();
}

/// Sums of the keys of each row; from the last one on, of those that it has.
LogicalResult RowTranslation::scanOfRows(CumSumOp op, Value data) {
  const auto axis = static_cast<int64_t>(*op.getAxis());
  if (kindOf(op.getOperand(0)) != RowKind::OfRows)
    return refuse(op, "it sums what is the same for all rows");
  if (std::string why = findMixing(op, /*reducesKeys=*/true); !why.empty())
    return refuse(op, why);
  if (op.getReverse() && sizes.isOfKeys(dimsOf(op.getResult())[axis]) &&
      !(data = withoutMissingKeys(op, data, {axis}, nullptr)))
    return refuse(op, "it sums positions of the keys");
  Value made = clone(op, data, data.getType());
  made.getDefiningOp()->setAttr("axis", builder.getI64IntegerAttr(axis + 1));
  values[op.getResult()] = made;
  return success();
}

LogicalResult RowTranslation::translateOfRows(Operation *op) {
  for (Value operand : op->getOperands())
    if (kindOf(operand) == RowKind::Tokens || kindOf(operand) == RowKind::Pool)
      return refuse(op, "it makes one value of all positions");
  if (isElementwise(op) || isa<ExpandOp>(op))
    return elementwiseOfRows(op);
  if (op->getNumResults() != 1)
    return refuse(op, "it has several results for each row");
  Value result = op->getResult(0);
  auto dims = sizesOf(result.getType(), all.set.size, /*isOfRows=*/true);
  if (!dims)
    return refuse(op, "its result has the keys before a step as a size");
  const Type element = elementOf(result);
  Value data =
      op->getNumOperands() ? values.lookup(op->getOperand(0)) : Value();
  const bool isFirst =
      op->getNumOperands() && kindOf(op->getOperand(0)) == RowKind::OfRows;
  Value &made = values[result];
  if (auto symbols = dyn_cast<SymbolsOp>(op)) {
    SmallVector<Value, 4> parts;
    for (DimExpr value : symbols.getValues().getValues()) {
      Value part = rows.ofRows(value);
      if (!part)
        return refuse(op, "it is " + value.str());
      parts.push_back(rows.reshape(part, {RowSymbols::rows(), 1}));
    }
    Value joined =
        parts.size() == 1
            ? parts[0]
            : rows.make<ConcatOp>(builder.getI64Type(),
                                  {RowSymbols::rows(), int64_t(parts.size())},
                                  parts, {rows.attribute("axis", 1)});
    made = rows.reshape(rows.cast(joined, element), *dims);
    return success();
  }
  if (auto range = dyn_cast<RangeOp>(op);
      range && range.getBoundsAttr() &&
      import::dimsOf(result) == Dims{DimExpr(1)}) {
    Value start = rows.ofRows(range.getBoundsAttr().getValues()[0]);
    if (!start)
      return refuse(op, "it starts at a size that is none of a row");
    made = rows.reshape(rows.cast(start, element), *dims);
    return success();
  }
  if (isa<ReshapeOp>(op)) {
    if (std::string why = findMixing(op); !why.empty())
      return refuse(op, why);
    made = rows.reshape(data, *dims);
    return success();
  }
  if (auto transpose = dyn_cast<TransposeOp>(op);
      transpose && transpose.getPerm()) {
    SmallVector<int64_t> perm{0};
    const ArrayRef<int64_t> order = *transpose.getPerm();
    for (int64_t d : order)
      perm.push_back(d + 1);
    made = transposed(builder, op->getLoc(), data, perm);
    return success();
  }
  auto axes = op->getAttrOfType<DenseI64ArrayAttr>("axes");
  if (axes && isFirst && op->hasTrait<LoweredBy<&lowerReduction>::Impl>()) {
    SmallVector<int64_t> moved, keyDims;
    for (int64_t axis : axes.asArrayRef()) {
      moved.push_back(axis + 1);
      if (sizes.isOfKeys(dimsOf(op->getOperand(0))[axis]))
        keyDims.push_back(axis);
    }
    if (std::string why = findMixing(op, !keyDims.empty()); !why.empty())
      return refuse(op, why);
    if (!keyDims.empty() &&
        !(data = withoutMissingKeys(op, data, keyDims, nullptr)))
      return refuse(op, "it reduces positions of the keys");
    made = clone(op, data, dist::makeType(element, *dims));
    made.getDefiningOp()->setAttr("axes", builder.getDenseI64ArrayAttr(moved));
    return success();
  }
  if (auto scan = dyn_cast<CumSumOp>(op))
    return scanOfRows(scan, data);
  if (auto gather = dyn_cast<GatherOp>(op);
      gather && gather.getAxis() == 0 && !isFirst) {
    if (std::string why = findMixing(op); !why.empty())
      return refuse(op, why);
    made = rows.gather(data, values.lookup(gather.getIndices()), 0);
    return success();
  }
  return refuse(op, "what it computes of a whole row is not known");
}

} // namespace shardc::import
