//===- AttentionParts.cpp - What attention operators are made of ----------===//

#include "dialects/onnx/ops/microsoft/AttentionParts.h"

#include "dialects/onnx/ops/Activation.h"
#include "dialects/onnx/ops/Arithmetic.h"
#include "dialects/onnx/ops/Attention.h"
#include "dialects/onnx/ops/Logic.h"
#include "dialects/onnx/ops/Normalization.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace shardc::onnx {

using dist::DimExpr;

//===----------------------------------------------------------------------===//
// Heads
//===----------------------------------------------------------------------===//

Value exchangeHeads(Decomposition &d, Value value) {
  return d.transpose(value, {0, 2, 1, 3});
}

Value splitHeads(Decomposition &d, Value value, int64_t heads) {
  Decomposition::Dims dims = d.dims(value);
  if (!value)
    return {};
  std::optional<DimExpr> size = dims[2].exactDiv(heads);
  if (!size) {
    d.op->emitOpError("has ")
        << heads << " heads, which do not divide " << dims[2].str();
    return {};
  }
  return exchangeHeads(d, d.reshape(value, {dims[0], dims[1], heads, *size}));
}

Value mergeHeads(Decomposition &d, Value value) {
  Value moved = exchangeHeads(d, value);
  Decomposition::Dims dims = d.dims(moved);
  return moved ? d.reshape(moved, {dims[0], dims[1], dims[2] * dims[3]})
               : Value();
}

Value appendToPast(Decomposition &d, Value past, Value value) {
  return past ? d.concat({past, value}, 2) : value;
}

std::optional<float> scaleOr(Decomposition &d, const APFloat &scale,
                             Value heads) {
  if (!scale.isZero())
    return scale.convertToFloat();
  std::optional<int64_t> size = d.dims(heads).back().asConstant();
  if (size)
    return static_cast<float>(1 / std::sqrt(double(*size)));
  d.op->emitOpError("has no scale, and heads of symbolic size");
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

static double lowestOf(Type element) {
  auto type = dyn_cast<FloatType>(element);
  return type ? APFloat::getLargest(type.getFloatSemantics(), true)
                    .convertToDouble()
              : -std::numeric_limits<double>::infinity();
}

void ScoreMask::add(Decomposition &d, Value more) {
  bias = bias ? d.add(bias, more) : more;
  isKnown &= bool(bias);
}

LogicalResult ScoreMask::addScores(Decomposition &d, Value more,
                                   DimExpr queries, DimExpr keys) {
  if (failed(d.expectRank(more, "an attention_bias", 4)) ||
      failed(d.expectSize(more, 2, queries, "an attention_bias")) ||
      failed(d.expectSize(more, 3, keys, "an attention_bias")))
    return failure();
  add(d, more);
  return success();
}

void ScoreMask::show(Decomposition &d, Value keys) {
  visible = visible ? d.make<AndOp>({visible, keys}) : keys;
  isKnown &= bool(visible);
}

void ScoreMask::showCausal(Decomposition &d, Value keys, Type element) {
  if (!hidesByLowest || !bias)
    return show(d, keys);
  bias = d.make<WhereOp>({keys, bias, d.number(element, lowestOf(element))});
}

Value ScoreMask::combined(Decomposition &d, Type element) const {
  if (!bias || !visible)
    return bias ? bias : visible;
  Value never = d.number(element, -std::numeric_limits<double>::infinity());
  return d.make<WhereOp>({visible, bias, never});
}

Value causalKeys(Decomposition &d, DimExpr past, DimExpr queries,
                 DimExpr keys) {
  Value column = d.reshape(d.range(past, queries), {queries, 1});
  Value visible = d.make<LessOrEqualOp>({d.range(0, keys), column});
  if (keys == past + queries)
    return visible;
  Value last = d.integer(d.i64(), past + queries - 1);
  return d.make<OrOp>({visible, d.make<EqualOp>({column, last})});
}

/// Whether a batch that has only a name must be as many as these numbers.
static bool saysBatch(DimExpr size, DimExpr batch) {
  const std::optional<int64_t> count = size.asConstant();
  return count && !batch.asConstant() && *count % 2 != 0 &&
         (*count - 2) % 3 != 0;
}

/// Of ends, or ends and starts, of the keys that a row of the batch sees. The
/// name of a dim does not say which: [b] and [3 * b + 2] are [2 * b] with starts
/// at 0, which stand behind what is there to be read in their place.
static Value keysBetween(Decomposition &d, Value mask, DimExpr batch,
                         DimExpr keys) {
  mask = d.cast(mask, d.i64());
  auto perRow = [&](Value bounds) {
    return d.reshape(bounds, {batch, 1, 1, 1});
  };
  DimExpr size = d.dims(mask)[0];
  Value positions = d.range(0, keys);
  // Lengths of keys, then where queries and keys of each row begin.
  const bool isBatch = size == batch || saysBatch(size, batch);
  bool areLengths = isBatch || size == 3 * batch + 2;
  Value ends = perRow(isBatch ? mask : d.slice(mask, 0, 0, batch));
  if (areLengths)
    return d.make<LessOp>({positions, ends});
  Value starts;
  if (size == 2 * batch) {
    starts = d.slice(mask, 0, batch, batch);
  } else {
    Value zero = d.integer(d.i64(), 0);
    Value areStarts = d.make<EqualOp>(
        {d.integer(d.i64(), size), d.integer(d.i64(), 2 * batch)});
    Value behind = d.concat({mask, d.expand(zero, {batch})}, 0);
    starts =
        d.make<WhereOp>({areStarts, d.slice(behind, 0, batch, batch), zero});
  }
  starts = perRow(starts);
  return d.make<AndOp>({d.make<LessOp>({positions, ends}),
                        d.make<GreaterOrEqualOp>({positions, starts})});
}

/// The sizes of a mask of 0 and 1; an error for others, when run where they have
/// a symbol.
static LogicalResult expectDims(Decomposition &d, Value mask,
                                const Decomposition::Dims &expected,
                                GuardKind kind = GuardKind::Equal) {
  for (auto [size, other] : llvm::zip_equal(d.dims(mask), expected))
    if (failed(d.inference.assume(d.op, kind, size, other,
                                  d.op->getName().stripDialect() +
                                      ": a mask of " + size.str() +
                                      " where there are " + other.str())))
      return failure();
  return success();
}

/// One that names lengths says by its size what they are.
static LogicalResult expectLengths(Decomposition &d, DimExpr size,
                                   DimExpr batch) {
  if (size == batch || size == 2 * batch || size == 3 * batch + 2)
    return success();
  if (saysBatch(size, batch))
    return d.inference.assume(d.op, GuardKind::Equal, batch, size,
                              d.op->getName().stripDialect() +
                                  ": the batch of a mask of " + size.str() +
                                  " lengths");
  const std::string what = " a mask of " + size.str() + " numbers, expected " +
                           batch.str() + ", " + (2 * batch).str() + " or " +
                           (3 * batch + 2).str();
  if (size.asConstant() && batch.asConstant())
    return d.op->emitOpError() << "has" << what;
  // (size - batch) (size - 2 batch) (size - 3 batch - 2) = 0
  const DimExpr square = batch * batch;
  return d.inference.assume(
      d.op, GuardKind::Equal,
      size * size * size + (11 * square + 6 * batch) * size,
      (6 * batch + 2) * size * size + 6 * square * batch + 4 * square,
      d.op->getName().stripDialect() + ":" + what);
}

/// [b, 1, s, t] of a mask of more positions, of which the last ones are queries.
static Value maskOfPositions(Decomposition &d, Value mask, DimExpr batch,
                             DimExpr queries, DimExpr keys) {
  if (failed(expectDims(d, mask, {batch, 1, keys, keys}, GuardKind::AtLeast)))
    return {};
  mask = d.slice(d.slice(mask, 0, 0, batch), 1, 0, 1);
  return d.slice(d.slice(mask, 2, keys - queries, queries), 3, 0, keys);
}

/// Bool, broadcastable to [b, h, s, t]; null after an error.
static Value paddingKeys(Decomposition &d, Value mask, DimExpr batch,
                         DimExpr queries, DimExpr keys) {
  Decomposition::Dims dims = d.dims(mask), expected = {batch, queries, keys};
  if (failed(d.expectRank(mask, "a mask", {1, 2, 3, 4})))
    return {};
  if (dims.size() == 1)
    return failed(expectLengths(d, dims[0], batch))
               ? Value()
               : keysBetween(d, mask, batch, keys);
  auto isSet = [&](Value value) {
    return value ? d.make<GreaterOp>({value, d.number(d.element(value), 0)})
                 : value;
  };
  if (dims.size() == 4)
    return isSet(maskOfPositions(d, mask, batch, queries, keys));
  if (dims.size() == 2)
    expected = {batch, keys};
  if (failed(expectDims(d, mask, expected)))
    return {};
  dims.insert(dims.begin() + 1, dims.size() == 2 ? 2 : 1, 1);
  return d.reshape(isSet(mask), dims);
}

void ScoreMask::addPadding(Decomposition &d, Value mask,
                           const Decomposition::Dims &scores, Type element,
                           double filter) {
  DimExpr batch = scores[0], queries = scores[1], keys = scores[2];
  Decomposition::Dims dims = d.dims(mask);
  if (dims.size() == 2 && dims[1].isConstant(1) && !keys.isConstant(1))
    return; // what ONNX Runtime takes for no mask
  Value visible = paddingKeys(d, mask, batch, queries, keys);
  // The lowest number of a wider type would be -inf here, and rows without any
  // key not a number.
  filter = std::max(filter, lowestOf(element));
  hidesByLowest = filter == lowestOf(element);
  add(d, visible ? d.make<WhereOp>({visible, d.number(element, 0),
                                    d.number(element, filter)})
                 : Value());
}

//===----------------------------------------------------------------------===//
// The product
//===----------------------------------------------------------------------===//

Value attend(Decomposition &d, const AttentionHeads &heads,
             const ScoreMask &mask) {
  if (!heads.query || !heads.key || !heads.value || !mask.isKnown)
    return {};
  Type element = d.element(heads.query);
  SmallVector<Value, 8> operands = {heads.query, heads.key, heads.value};
  if (Value combined = mask.combined(d, element))
    operands.push_back(combined);
  else if (mask.bias || mask.visible)
    return {};
  if (heads.sinks) {
    operands.resize(AttentionOperand::Sinks, d.absent());
    operands.push_back(d.cast(heads.sinks, element));
  }
  return d.make<AttentionOp>(operands, {d.attribute("scale", heads.scale),
                                        d.attribute("softcap", heads.softcap)});
}

} // namespace shardc::onnx
