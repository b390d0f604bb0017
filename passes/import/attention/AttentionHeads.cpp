//===- AttentionHeads.cpp - Queries, keys and values by heads -------------===//

#include "passes/import/attention/AttentionHeads.h"

#include "dialects/onnx/ops/Layout.h"
#include "passes/import/Matching.h"

using namespace mlir;

namespace shardc::import {

using dist::DimExpr;
using namespace onnx;

/// [b, kv, t, d] for the same with each head repeated for a group of queries:
/// Reshape of Expand, [b, kv, 1, t, d] -> [b, kv, g, t, d] -> [b, kv g, t, d].
static Value unrepeated(OpBuilder &builder, Location loc, Value value) {
  auto merge = value.getDefiningOp<ReshapeOp>();
  auto expand = merge ? merge.getData().getDefiningOp<ExpandOp>() : ExpandOp();
  if (!expand)
    return {};
  Dims from = dimsOf(expand.getData()), to = dimsOf(expand),
       whole = dimsOf(value);
  if (to.size() != 5 || from.size() != 5 || whole.size() != 4 ||
      !from[2].isConstant(1))
    return {};
  Dims once = to;
  once[2] = 1;
  if (from != once || whole != Dims{to[0], to[1] * to[2], to[3], to[4]})
    return {};
  return reshaped(builder, loc, expand.getData(), {to[0], to[1], to[3], to[4]});
}

/// b h t d for b h d t; looks through the repetition of heads, too, which
/// exporters put in front of the Transpose.
static Value keyOf(OpBuilder &builder, Location loc, Value transposedKey) {
  auto merge = transposedKey.getDefiningOp<ReshapeOp>();
  auto swap =
      merge ? merge.getData().getDefiningOp<TransposeOp>() : TransposeOp();
  auto expand = swap ? swap.getData().getDefiningOp<ExpandOp>() : ExpandOp();
  Dims whole = dimsOf(transposedKey);
  if (expand && *swap.getPerm() == ArrayRef<int64_t>{0, 1, 2, 4, 3}) {
    Dims dims = dimsOf(expand);
    Dims merged = {dims[0], dims[1] * dims[2], dims[3], dims[4]};
    if (whole == Dims{merged[0], merged[1], merged[3], merged[2]})
      return ReshapeOp::create(builder, loc,
                               dist::makeType(elementOf(expand), merged),
                               expand, ValueRange{});
  }
  return transposed(builder, loc, transposedKey, {0, 1, 3, 2});
}

/// [h] for sinks that broadcast to [b, h, s, 1]; null if they are other.
static Value sinksOf(OpBuilder &builder, Location loc, Value sinks,
                     ArrayRef<DimExpr> scores) {
  Dims dims = dimsOf(sinks);
  if (ArrayRef<DimExpr>(dims).drop_back() != scores.drop_back())
    return {};
  if (auto expand = sinks.getDefiningOp<ExpandOp>())
    sinks = expand.getData();
  dims = dimsOf(sinks);
  DimExpr heads = scores[1];
  for (auto [d, size] : llvm::enumerate(llvm::reverse(dims)))
    if (!size.isConstant(1) && !(d == 2 && size == heads))
      return {};
  if (dims.size() < 3 || dims[dims.size() - 3] != heads)
    return {};
  return reshaped(builder, loc, sinks, {heads});
}

bool dropRepetition(OpBuilder &builder, Location loc, Value &key,
                    Value &value) {
  Value fewKeys = unrepeated(builder, loc, key);
  Value fewValues = unrepeated(builder, loc, value);
  if (!fewKeys || !fewValues || dimsOf(fewKeys)[1] != dimsOf(fewValues)[1])
    return false;
  key = fewKeys;
  value = fewValues;
  return true;
}

std::optional<AttentionHeads> readHeads(OpBuilder &builder, Location loc,
                                        AttentionScores &scores, Value value,
                                        ArrayRef<DimExpr> dims) {
  Value key = keyOf(builder, loc, scores.transposedKey);
  key = unscaled(key, scores.scale);
  if (dropRepetition(builder, loc, key, value))
    key = unscaled(key, scores.scale);
  Dims q = dimsOf(scores.query), k = dimsOf(key), v = dimsOf(value);
  if (v.size() != 4 || q != Dims{dims[0], dims[1], dims[2], k[3]} ||
      k != Dims{dims[0], v[1], dims[3], k[3]} ||
      v != Dims{dims[0], v[1], dims[3], v[3]} || !q[1].exactDiv(k[1]))
    return std::nullopt;
  AttentionHeads heads{scores.query, key, value, {}};
  if (scores.sinks &&
      !(heads.sinks = sinksOf(builder, loc, scores.sinks, dims)))
    return std::nullopt;
  return heads;
}

} // namespace shardc::import
