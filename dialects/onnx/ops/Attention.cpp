//===- Attention.cpp - Shape functions and sharding rules -----------------===//

#include "dialects/onnx/ops/Attention.h"

#include "dialects/onnx/ops/Indexing.h"
#include "dialects/onnx/ops/Layout.h"
#include "dialects/onnx/ops/Logic.h"
#include "dialects/onnx/ops/Source.h"

#include <cmath>
#include <limits>

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/onnx/ops/Attention.cpp.inc"

namespace shardc::onnx {

using dist::DimExpr;

void OnnxDialect::registerAttentionOps() {
  addOperations<
#define GET_OP_LIST
#include "dialects/onnx/ops/Attention.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// [b, s, heads * d] -> [b, heads, s, d].
static Value splitHeads(Operation *op, ShapeInference &inference, Value value,
                        int64_t heads) {
  SmallVector<DimExpr, 4> dims = inference.dims(value);
  std::optional<DimExpr> size = dims[2].exactDiv(heads);
  if (!size) {
    op->emitOpError("has ")
        << heads << " heads, which do not divide " << dims[2].str();
    return {};
  }
  Value split = inference.reshape(op, value, {dims[0], dims[1], heads, *size});
  return inference.transpose(op, split, {0, 2, 1, 3});
}

/// [b, heads, s, d] -> [b, s, heads * d].
static Value mergeHeads(Operation *op, ShapeInference &inference, Value value) {
  Value moved = inference.transpose(op, value, {0, 2, 1, 3});
  if (!moved)
    return {};
  SmallVector<DimExpr, 4> dims = inference.dims(moved);
  return inference.reshape(op, moved, {dims[0], dims[1], dims[2] * dims[3]});
}

/// Bool mask [s, t] of what comes no later than the query, which stands
/// `past` keys behind the first.
static Value causalMask(AttentionOp op, ShapeInference &inference, DimExpr past,
                        DimExpr queries, DimExpr keys) {
  Type i64 = inference.builder.getI64Type();
  auto range = [&](DimExpr start, DimExpr limit) -> Value {
    SmallVector<Value, 3> operands;
    for (DimExpr value : {start, limit, DimExpr(1)})
      operands.push_back(
          inference.constant(op, KnownValue{i64, {}, {KnownScalar(value)}}));
    auto values = inference.create<RangeOp>(op, operands);
    return values ? values.getResult() : Value();
  };
  Value column = range(past, past + queries), row = range(0, keys);
  if (!column || !row)
    return {};
  auto mask = inference.create<LessOrEqualOp>(
      op, {row, inference.reshape(op, column, {queries, 1})});
  return mask ? mask.getResult() : Value();
}

/// Both masks: their conjunction, or -inf where the bool one is false.
static Value combineMasks(AttentionOp op, ShapeInference &inference, Value mask,
                          Value causal) {
  if (!ShapeInference::isPresent(mask))
    return causal;
  Type element = inference.element(mask);
  if (element.isInteger(1)) {
    auto both = inference.create<AndOp>(op, {mask, causal});
    return both ? both.getResult() : Value();
  }
  Value never = inference.constant(
      op, KnownValue{element, {}, {-std::numeric_limits<double>::infinity()}});
  auto both = inference.create<WhereOp>(op, {causal, mask, never});
  return both ? both.getResult() : Value();
}

/// past and new along the sequence; `past` may be absent.
static Value appendToCache(AttentionOp op, ShapeInference &inference,
                           unsigned past, Value value) {
  if (!ShapeInference::isPresent(op, past))
    return value;
  auto all = inference.create<ConcatOp>(op, {op->getOperand(past), value},
                                        inference.attribute("axis", 2));
  return all ? all.getResult() : Value();
}

/// True if the op already is what it becomes at import.
static bool isSimple(AttentionOp op, ShapeInference &inference) {
  return op.getNumResults() == 1 && inference.rank(op.getQuery()) == 4 &&
         op.getScale() && !op.getQNumHeads() &&
         llvm::none_of(
             llvm::seq<unsigned>(AttentionOperand::PastKey,
                                 AttentionOperand::Sinks),
             [&](unsigned i) { return ShapeInference::isPresent(op, i); });
}

static LogicalResult checkSupported(AttentionOp op, ShapeInference &inference) {
  if (ShapeInference::isPresent(op, AttentionOperand::Lengths))
    return op.emitOpError("has nonpad_kv_seqlen, which is not supported: use "
                          "attn_mask");
  if (op.getNumResults() > 3 && !op.getResult(3).use_empty())
    return op.emitOpError("has the output qk_matmul_output, which is not "
                          "supported");
  int64_t rank = inference.rank(op.getQuery());
  for (Value other : {op.getKey(), op.getValue()})
    if (inference.rank(other) != rank)
      return op.emitOpError("has a query of ")
             << rank << " dims, and keys or values of "
             << inference.rank(other);
  if (rank == 3 && (!op.getQNumHeads() || !op.getKvNumHeads()))
    return op.emitOpError("has a query of 3 dims, but not both q_num_heads and "
                          "kv_num_heads");
  return success();
}

/// The 4-D form without past and with its scale written out.
static LogicalResult simplifyAttention(AttentionOp op,
                                       ShapeInference &inference) {
  if (failed(checkSupported(op, inference)))
    return failure();
  SmallVector<Value, 3> qkv = {op.getQuery(), op.getKey(), op.getValue()};
  bool isFlat = inference.rank(op.getQuery()) == 3;
  if (isFlat)
    for (auto [i, value] : llvm::enumerate(qkv))
      if (!(value =
                splitHeads(op, inference, value,
                           i == 0 ? *op.getQNumHeads() : *op.getKvNumHeads())))
        return failure();
  DimExpr past = 0;
  if (ShapeInference::isPresent(op, AttentionOperand::PastKey))
    past = inference.dims(op->getOperand(AttentionOperand::PastKey))[2];
  qkv[1] = appendToCache(op, inference, AttentionOperand::PastKey, qkv[1]);
  qkv[2] = appendToCache(op, inference, AttentionOperand::PastValue, qkv[2]);
  if (!qkv[1] || !qkv[2])
    return failure();
  Value mask;
  if (ShapeInference::isPresent(op, AttentionOperand::Mask))
    mask = op->getOperand(AttentionOperand::Mask);
  bool isCausal = op.getIsCausal() != 0;
  if (isCausal && !past.isConstant(0)) {
    // Plain causality has no place for an offset.
    Value causal = causalMask(op, inference, past, inference.dims(qkv[0])[2],
                              inference.dims(qkv[1])[2]);
    mask = causal ? combineMasks(op, inference, mask, causal) : Value();
    if (!mask)
      return failure();
    isCausal = false;
  }
  SmallVector<Value, 4> operands(qkv.begin(), qkv.end());
  if (mask)
    operands.push_back(mask);
  Builder &b = inference.builder;
  std::optional<int64_t> size = inference.dims(qkv[0])[3].asConstant();
  if (!op.getScale() && !size)
    return op.emitOpError("has no scale, and heads of symbolic size");
  float scale = op.getScale()
                    ? op.getScale()->convertToFloat()
                    : static_cast<float>(1 / std::sqrt(double(*size)));
  SmallVector<NamedAttribute> attributes = {
      inference.attribute("is_causal", isCausal),
      b.getNamedAttr("scale", b.getF32FloatAttr(scale)),
      b.getNamedAttr("softcap", op.getSoftcapAttr())};
  if (auto precision = op.getSoftmaxPrecisionAttr())
    attributes.push_back(b.getNamedAttr("softmax_precision", precision));
  auto simple = inference.create<AttentionOp>(op, operands, attributes);
  if (!simple)
    return failure();
  Value result = simple.getResult(0);
  if (isFlat && !(result = mergeHeads(op, inference, result)))
    return failure();
  inference.replace(op, result);
  for (unsigned i : {1u, 2u})
    if (i < op.getNumResults())
      inference.replaceResult(op, i, qkv[i]);
  return success();
}

/// The mask broadcasts to the scores, which have no dim that is its alone.
static LogicalResult checkMask(AttentionOp op, ShapeInference &inference,
                               ArrayRef<DimExpr> scores) {
  SmallVector<DimExpr, 4> mask =
      inference.dims(op->getOperand(AttentionOperand::Mask));
  if (mask.size() > scores.size())
    return op.emitOpError("has a mask of ")
           << mask.size() << " dims, expected at most " << scores.size();
  for (auto [size, whole] :
       llvm::zip(llvm::reverse(mask), llvm::reverse(scores)))
    if (!size.isConstant(1) &&
        failed(inference.assume(op, GuardKind::Equal, whole, size,
                                "Attention: sizes " + whole.str() + " and " +
                                    size.str() + " do not broadcast")))
      return failure();
  return success();
}

/// b h s d, b kv t d, b kv t e -> b h s e; the mask broadcasts to b h s t.
static LogicalResult inferSimple(AttentionOp op, ShapeInference &inference) {
  SmallVector<DimExpr, 4> q = inference.dims(op.getQuery());
  SmallVector<DimExpr, 4> k = inference.dims(op.getKey());
  SmallVector<DimExpr, 4> v = inference.dims(op.getValue());
  if (k.size() != 4 || v.size() != 4)
    return op.emitOpError("has key and value of ")
           << k.size() << " and " << v.size() << " dims, expected 4";
  auto same = [&](DimExpr lhs, DimExpr rhs, StringRef what) {
    return inference.assume(op, GuardKind::Equal, lhs, rhs,
                            "Attention: " + what + " " + lhs.str() + " and " +
                                rhs.str() + " differ");
  };
  if (failed(same(q[0], k[0], "batch sizes")) ||
      failed(same(k[0], v[0], "batch sizes")) ||
      failed(same(q[3], k[3], "head sizes")) ||
      failed(same(k[1], v[1], "key and value heads")) ||
      failed(same(k[2], v[2], "key and value lengths")))
    return failure();
  if (!q[1].exactDiv(k[1]))
    return op.emitOpError("has ") << q[1].str()
                                  << " query heads, expected a "
                                     "multiple of the "
                                  << k[1].str() << " key and value heads";
  if (ShapeInference::isPresent(op, AttentionOperand::Mask) &&
      failed(checkMask(op, inference, {q[0], q[1], q[2], k[2]})))
    return failure();
  if (ShapeInference::isPresent(op, AttentionOperand::Sinks) &&
      inference.dims(op->getOperand(AttentionOperand::Sinks)) !=
          SmallVector<DimExpr, 4>{q[1]})
    return op.emitOpError("has sinks that are not one for each of the ")
           << q[1].str() << " query heads";
  inference.setType(op.getResult(0), inference.element(op.getQuery()),
                    {q[0], q[1], q[2], v[3]});
  return success();
}

LogicalResult AttentionOp::inferTypes(ShapeInference &inference) {
  inference.dropAbsentTail(*this);
  return isSimple(*this, inference) ? inferSimple(*this, inference)
                                    : simplifyAttention(*this, inference);
}

/// Query heads are kv heads x groups.
ShardingRule AttentionOp::shardingRule() {
  auto dims = [](Value value) { return dist::getDims(value.getType()); };
  SmallVector<DimExpr, 4> q = dims(getQuery()), v = dims(getValue());
  const FactorClass blocked = FactorClass::NeedsReplication;
  ShardingRule rule;
  RuleDim batch = rule.addDim(q[0]);
  RuleDim kvHeads = rule.addDim(v[1]);
  RuleDim groups = rule.addDim(*q[1].exactDiv(v[1]));
  RuleDim heads = kvHeads;
  for (const auto &segment : groups.segments) {
    if (heads.segments.empty())
      heads.segments.emplace_back();
    llvm::append_range(heads.segments.front(), segment);
  }
  RuleDim queries = rule.addDim(q[2]);
  for (const auto &segment : queries.segments) // causality counts rows
    rule.factors[segment.front()].rankParts =
        getIsCausal() ? RankParts::RangePerSegment : RankParts::Any;
  RuleDim keys = rule.addDim(v[2], blocked);
  for (const auto &segment : keys.segments)
    rule.factors[segment.front()].isInTurn = true;
  RuleDim headSize = rule.addDim(q[3], blocked);
  RuleDim valueSize = rule.addDim(v[3]);
  rule.operands = {{batch, heads, queries, headSize},
                   {batch, kvHeads, keys, headSize},
                   {batch, kvHeads, keys, valueSize}};
  rule.operands.resize(getNumOperands());
  if (getNumOperands() > AttentionOperand::Sinks)
    rule.operands[AttentionOperand::Sinks] = {heads};
  if (ShapeInference::isPresent(*this, AttentionOperand::Mask)) {
    RuleTensor whole = {batch, heads, queries, keys};
    SmallVector<DimExpr, 4> maskDims = dims(getOperand(AttentionOperand::Mask));
    RuleTensor mask(maskDims.size());
    for (size_t d = 0; d < mask.size(); ++d)
      if (!maskDims[d].isConstant(1))
        mask[d] = whole[4 - mask.size() + d];
    rule.operands[AttentionOperand::Mask] = std::move(mask);
  }
  rule.results = {{batch, heads, queries, valueSize}};
  return rule;
}

/// Neither nonpad_kv_seqlen nor qk_matmul_output.
bool AttentionOp::takes(unsigned operands, unsigned results) {
  return operands <= AttentionOperand::Lengths && results <= 3;
}

DimExpr AttentionOp::multiplyAdds() {
  SmallVector<DimExpr, 4> q = dist::getDims(getQuery().getType());
  SmallVector<DimExpr, 4> v = dist::getDims(getValue().getType());
  return q[0] * q[1] * q[2] * v[2] * (q[3] + v[3]);
}

//===----------------------------------------------------------------------===//
// RotaryEmbedding
//===----------------------------------------------------------------------===//

/// With positions the caches are tables [positions, r / 2].
static LogicalResult gatherCaches(RotaryEmbeddingOp op,
                                  ShapeInference &inference) {
  Value positions = op.getPositionIds().front();
  for (unsigned cache : {1u, 2u}) {
    auto rows = inference.create<GatherOp>(
        op, {op->getOperand(cache), positions}, inference.attribute("axis", 0));
    if (!rows)
      return failure();
    op->setOperand(cache, rows);
  }
  inference.keepOperands(op, 3);
  return success();
}

LogicalResult RotaryEmbeddingOp::inferTypes(ShapeInference &inference) {
  inference.dropAbsentTail(*this);
  if (!getPositionIds().empty() && failed(gatherCaches(*this, inference)))
    return failure();
  SmallVector<DimExpr, 4> dims = inference.dims(getInput());
  if (dims.size() == 3) {
    if (getNumHeads() == 0)
      return emitOpError("has an operand of 3 dims, but no num_heads");
    Value input = splitHeads(*this, inference, getInput(), getNumHeads());
    if (!input)
      return failure();
    auto rotated = inference.create<RotaryEmbeddingOp>(
        *this, {input, getCosCache(), getSinCache()},
        {inference.attribute("interleaved", getInterleaved()),
         inference.attribute("rotary_embedding_dim", getRotaryEmbeddingDim())});
    Value result = rotated ? mergeHeads(*this, inference, rotated) : Value();
    if (!result)
      return failure();
    inference.replace(*this, result);
    return success();
  }
  for (Value cache : {getCosCache(), getSinCache()}) {
    SmallVector<DimExpr, 4> rows = inference.dims(cache);
    if (rows.size() != 3)
      return emitOpError("has a cache of ")
             << rows.size() << " dims, expected 3, or 2 with position_ids";
    for (unsigned d : {0u, 1u})
      if (failed(inference.assume(*this, GuardKind::Equal, rows[d], dims[2 * d],
                                  "RotaryEmbedding: sizes " + rows[d].str() +
                                      " and " + dims[2 * d].str() +
                                      " of cache and operand differ")))
        return failure();
  }
  setNumHeads(0);
  inference.setType(getResult(), inference.element(getInput()), dims);
  return success();
}

ShardingRule RotaryEmbeddingOp::shardingRule() {
  return einsumRule(*this, "b h s !d, b s !r, b s !r -> b h s !d");
}

} // namespace shardc::onnx
