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

void ScoreMask::add(Decomposition &d, Value more) {
  bias = bias ? d.add(bias, more) : more;
  isKnown &= bool(bias);
}

void ScoreMask::show(Decomposition &d, Value keys) {
  visible = visible ? d.make<AndOp>({visible, keys}) : keys;
  isKnown &= bool(visible);
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
  return d.make<LessOrEqualOp>({d.range(0, keys), column});
}

/// Bool, broadcastable to [b, h, s, t].
static Value paddingKeys(Decomposition &d, Value mask, DimExpr batch,
                         DimExpr keys) {
  Decomposition::Dims dims = d.dims(mask);
  if (dims.size() == 2 || dims.size() == 3) {
    dims.insert(dims.begin() + 1, dims.size() == 2 ? 2 : 1, 1);
    return d.reshape(d.make<GreaterOp>({mask, d.number(d.element(mask), 0)}),
                     dims);
  }
  mask = d.cast(mask, d.i64());
  auto perRow = [&](Value lengths) {
    return d.reshape(lengths, {batch, 1, 1, 1});
  };
  Value positions = d.range(0, keys);
  if (dims.size() == 1 && dims[0] == batch)
    return d.make<LessOp>({positions, perRow(mask)});
  if (dims.size() == 1 && dims[0] == 2 * batch) {
    Value ends = perRow(d.slice(mask, 0, 0, batch));
    Value starts = perRow(d.slice(mask, 0, batch, batch));
    return d.make<AndOp>({d.make<LessOp>({positions, ends}),
                          d.make<GreaterOrEqualOp>({positions, starts})});
  }
  d.op->emitOpError("has a mask of type ")
      << mask.getType()
      << ", expected dims [batch, keys], [batch, queries, keys], [batch] or "
         "[2 * batch]";
  return {};
}

Value paddingBias(Decomposition &d, Value mask, DimExpr batch, DimExpr keys,
                  Type element, double filter) {
  Value visible = paddingKeys(d, mask, batch, keys);
  // The lowest number of a wider type would be -inf here, and rows without any
  // key not a number.
  if (auto type = dyn_cast<FloatType>(element))
    filter = std::max(
        filter,
        APFloat::getLargest(type.getFloatSemantics(), true).convertToDouble());
  return visible ? d.make<WhereOp>({visible, d.number(element, 0),
                                    d.number(element, filter)})
                 : Value();
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
