//===- AttentionHeads.cpp - Queries, keys and values by heads -------------===//

#include "passes/import/attention/AttentionHeads.h"

#include "dialects/onnx/ops/Layout.h"
#include "passes/import/Matching.h"

using namespace mlir;

namespace shardc::import {

using dist::DimExpr;
using namespace onnx;

/// Which dims of an Expand each dim is made of, in row-major order, without
/// those of one element.
using DimParts = SmallVector<SmallVector<unsigned, 2>, 4>;

/// Of a value of the same elements in other dims; nothing where a dim holds
/// half of another. [b, t, kv g, d] of [b, kv, g, t, d]: 0, 3, 1 2, 4.
static std::optional<DimParts> partsOf(Value value, ExpandOp &source,
                                       unsigned mostOps = 8) {
  const Dims dims = dimsOf(value);
  if (auto expand = value.getDefiningOp<ExpandOp>()) {
    source = expand;
    DimParts parts(dims.size());
    for (auto [d, size] : llvm::enumerate(dims))
      if (!size.isConstant(1))
        parts[d].push_back(d);
    return parts;
  }
  if (mostOps == 0)
    return std::nullopt;
  if (auto transpose = value.getDefiningOp<TransposeOp>();
      transpose && transpose.getPerm()) {
    std::optional<DimParts> from =
        partsOf(transpose.getData(), source, mostOps - 1);
    DimParts parts;
    for (int64_t d : from ? *transpose.getPerm() : ArrayRef<int64_t>())
      parts.push_back((*from)[d]);
    return from ? std::optional(parts) : std::nullopt;
  }
  auto reshape = value.getDefiningOp<ReshapeOp>();
  std::optional<DimParts> from =
      reshape ? partsOf(reshape.getData(), source, mostOps - 1) : std::nullopt;
  if (!from)
    return std::nullopt;
  SmallVector<unsigned> inOrder;
  for (ArrayRef<unsigned> part : *from)
    llvm::append_range(inOrder, part);
  DimParts parts(dims.size());
  ArrayRef<unsigned> left = inOrder;
  for (auto [part, size] : llvm::zip(parts, dims))
    for (DimExpr held = 1; held != size; left = left.drop_front()) {
      if (left.empty())
        return std::nullopt;
      part.push_back(left.front());
      held = held * dimsOf(source)[left.front()];
    }
  return left.empty() ? std::optional(parts) : std::nullopt;
}

/// [b, kv, t, d] for the same with each head repeated for a group of queries:
/// [b, kv, 1, t, d] -> Expand [b, kv, g, t, d] -> [b, kv g, t, d].
static Value unrepeated(OpBuilder &builder, Location loc, Value value) {
  ExpandOp expand;
  const std::optional<DimParts> parts = partsOf(value, expand);
  if (!parts || parts->size() != 4)
    return {};
  const Dims from = dimsOf(expand.getData()), to = dimsOf(expand);
  Dims once = to;
  if (to.size() != 5 || from.size() != 5)
    return {};
  once[2] = 1;
  DimParts byHeads = {{0}, {1, 2}, {3}, {4}};
  for (auto &part : byHeads)
    llvm::erase_if(part, [&](unsigned d) { return to[d].isConstant(1); });
  if (from != once || *parts != byHeads)
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
