//===- Attention.cpp - com.microsoft: attention and rotary embedding ------===//

#include "dialects/onnx/ops/microsoft/Attention.h"

#include "dialects/onnx/ops/Attention.h"
#include "dialects/onnx/ops/Indexing.h"
#include "dialects/onnx/ops/microsoft/AttentionParts.h"
#include "dialects/onnx/ops/microsoft/Quantization.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/onnx/ops/microsoft/Attention.cpp.inc"

namespace shardc::onnx {

using dist::DimExpr;

//===----------------------------------------------------------------------===//
// RotaryEmbedding
//===----------------------------------------------------------------------===//

/// Heads of a flat operand; without num_heads they are as long as the caches
/// say.
static FailureOr<int64_t> rotaryHeads(MicrosoftRotaryEmbeddingOp op,
                                      Decomposition &d) {
  if (op.getRotaryEmbeddingDim() > 0) {
    if (op.getNumHeads() == 0)
      return op.emitOpError("has rotary_embedding_dim, but no num_heads");
    return op.getNumHeads();
  }
  DimExpr hidden = d.dims(op.getInput())[2];
  std::optional<DimExpr> heads =
      hidden.exactDiv(2 * d.dims(op.getCosCache())[1]);
  if (heads && heads->asConstant())
    return *heads->asConstant();
  return op.emitOpError("has heads of ")
         << (2 * d.dims(op.getCosCache())[1]).str()
         << " numbers, which do not divide " << hidden.str();
}

LogicalResult
MicrosoftRotaryEmbeddingOp::inferTypes(ShapeInference &inference) {
  Decomposition d(*this, inference);
  StringRef remedy = "export again without ONNX Runtime's optimizer";
  if (getIsPackedBatching() != 0)
    return d.refuse("is_packed_batching", remedy);
  if (!getScale().isExactlyValue(1.0))
    return d.refuse("a scale other than 1", remedy);
  if (failed(d.expectRank(getInput(), "an input", {3, 4})) ||
      failed(d.expectRank(getPositionIds(), "position_ids", {1, 2})) ||
      failed(d.expectRank(getCosCache(), "a cos_cache", 2)) ||
      failed(d.expectDims(getSinCache(), d.dims(getCosCache()), "a sin_cache")))
    return failure();
  if (d.rank(getPositionIds()) == 1 && // of the first token
      failed(d.expectSize(getPositionIds(), 0, 1, "position_ids")))
    return failure();
  bool isFlat = d.rank(getInput()) == 3;
  Value heads = getInput();
  if (isFlat) {
    FailureOr<int64_t> count = rotaryHeads(*this, d);
    heads = failed(count) ? Value() : splitHeads(d, heads, *count);
  }
  if (!heads)
    return failure();
  DimExpr batch = d.dims(heads)[0], length = d.dims(heads)[2];
  Value positions = getPositionIds();
  if (d.rank(positions) == 1)
    positions = d.expand(d.add(d.cast(positions, d.i64()), d.range(0, length)),
                         {batch, length});
  auto rows = [&](Value cache) {
    return d.make<GatherOp>({cache, positions}, d.attribute("axis", 0));
  };
  Value rotated = d.make<RotaryEmbeddingOp>(
      {heads, rows(getCosCache()), rows(getSinCache())},
      d.attribute("interleaved", getInterleaved()));
  return d.replaceBy({isFlat ? mergeHeads(d, rotated) : rotated});
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

namespace {
enum AttentionInput {
  kBias = 2,
  kMaskIndex,
  kPast,
  kAttentionBias,
  kPastLength
};
}

static LogicalResult checkSupported(MicrosoftAttentionOp op, Decomposition &d) {
  StringRef remedy = "export again without ONNX Runtime's optimizer";
  if (op.getDoRotary() != 0)
    return d.refuse("do_rotary", remedy);
  if (op.getPastPresentShareBuffer() != 0)
    return d.refuse("past_present_share_buffer",
                    "export with past and present of their own sizes");
  if (failed(d.refuseOperand(kPastLength, "past_sequence_length",
                             "export with past of its own size")) ||
      failed(d.expectRank(op.getInput(), "an input", 3)) ||
      failed(d.expectRank(op.getWeights(), "weights", 2)) ||
      failed(d.expectRank(d.operand(kPast), "a past", 5)))
    return failure();
  return success();
}

/// Hidden sizes of q, k and v, of `all` columns.
static FailureOr<SmallVector<DimExpr, 3>>
hiddenSizes(Operation *op, DimExpr all, ArrayRef<int64_t> sizes = {}) {
  if (!sizes.empty()) {
    if (sizes.size() != 3 || sizes[0] + sizes[1] + sizes[2] != all)
      return op->emitOpError("has qkv_hidden_sizes that are not the parts of ")
             << all.str();
    return SmallVector<DimExpr, 3>(sizes.begin(), sizes.end());
  }
  std::optional<DimExpr> part = all.exactDiv(3);
  if (!part)
    return op->emitOpError("has weights for ")
           << all.str() << " columns, expected a multiple of 3";
  return SmallVector<DimExpr, 3>(3, *part);
}

/// The two planes of a cache [2, b, n, t, d].
static Value presentOf(Decomposition &d, Value keys, Value values) {
  auto plane = [&](Value heads) {
    Decomposition::Dims dims = d.dims(heads);
    dims.insert(dims.begin(), 1);
    return d.reshape(heads, dims);
  };
  return d.concat({plane(keys), plane(values)}, 0);
}

/// Attention of q | k | v, `projected`; `padding`, `past` and `bias` may be
/// null.
template <typename OpTy>
static LogicalResult replaceProjected(OpTy op, Decomposition &d,
                                      Value projected, ArrayRef<DimExpr> sizes,
                                      Value padding, Value past, Value bias) {
  SmallVector<Value, 4> qkv = d.split(projected, 2, sizes);
  for (Value &heads : qkv)
    heads = splitHeads(d, heads, op.getNumHeads());
  if (llvm::is_contained(qkv, Value()))
    return failure();
  DimExpr first = 0;
  if (past) {
    if (failed(d.expectSize(past, 0, 2, "a past of keys and values")))
      return failure();
    first = d.dims(past)[3];
    qkv[1] = appendToPast(d, d.row(past, 0, 0), qkv[1]);
    qkv[2] = appendToPast(d, d.row(past, 0, 1), qkv[2]);
  }
  if (!qkv[1] || !qkv[2])
    return failure();
  Decomposition::Dims q = d.dims(qkv[0]), k = d.dims(qkv[1]);
  ScoreMask mask;
  if (padding)
    mask.addPadding(d, padding, {q[0], q[2], k[2]}, d.element(qkv[0]),
                    op.getMaskFilterValue().convertToDouble());
  if (op.getUnidirectional())
    mask.showCausal(d, causalKeys(d, first, q[2], k[2]), d.element(qkv[0]));
  if (bias && failed(mask.addScores(d, bias, q[2], k[2])))
    return failure();
  std::optional<float> scale = scaleOr(d, op.getScale(), qkv[0]);
  if (!scale)
    return failure();
  Value result = attend(d, {qkv[0], qkv[1], qkv[2], *scale}, mask);
  Value present = d.usedResult(1) ? presentOf(d, qkv[1], qkv[2]) : Value();
  return d.replaceBy({mergeHeads(d, result), present});
}

LogicalResult MicrosoftAttentionOp::inferTypes(ShapeInference &inference) {
  Decomposition d(*this, inference);
  if (failed(checkSupported(*this, d)))
    return failure();
  auto sizes = hiddenSizes(*this, d.dims(getWeights())[1],
                           getQkvHiddenSizes().value_or(ArrayRef<int64_t>()));
  if (failed(sizes))
    return failure();
  Value projected = d.matmul(getInput(), getWeights());
  if (Value bias = d.operand(kBias))
    projected = d.add(projected, bias);
  return replaceProjected(*this, d, projected, *sizes, d.operand(kMaskIndex),
                          d.operand(kPast), d.operand(kAttentionBias));
}

LogicalResult MicrosoftQAttentionOp::inferTypes(ShapeInference &inference) {
  enum Input { kPadding = 5, kInputZero, kWeightsZero, kCache };
  Decomposition d(*this, inference);
  if (getDoRotary() != 0 || getPastPresentShareBuffer() != 0)
    return d.refuse(getDoRotary() ? "do_rotary" : "past_present_share_buffer",
                    "quantise without fused attention");
  if (failed(d.expectRank(getInput(), "an input", 3)) ||
      failed(d.expectRank(getWeights(), "weights", 2)) ||
      failed(d.expectRank(d.operand(kCache), "a past", 5)))
    return failure();
  auto sizes = hiddenSizes(*this, d.dims(getWeights())[1]);
  if (failed(sizes))
    return failure();
  auto orAbsent = [&](Value value) { return value ? value : d.absent(); };
  Value projected = d.make<MicrosoftMatMulIntegerToFloatOp>(
      {getInput(), getWeights(), getInputScale(), getWeightsScale(),
       orAbsent(d.operand(kInputZero)), orAbsent(d.operand(kWeightsZero)),
       getBias()});
  return replaceProjected(*this, d, projected, *sizes, d.operand(kPadding),
                          d.operand(kCache), Value());
}

//===----------------------------------------------------------------------===//
// MultiHeadAttention
//===----------------------------------------------------------------------===//

namespace {

enum MultiHeadInput {
  kKey = 1,
  kValue,
  kProjectionBias,
  kKeyPadding,
  kScoreBias,
  kPastKey,
  kPastValue,
  kPastSequenceLength,
  kCacheIndirection
};

/// Finds q, k and v as heads [b, n, s, d] in the operator's layouts.
class MultiHeadOperands {
public:
  MultiHeadOperands(MicrosoftMultiHeadAttentionOp op, Decomposition &d)
      : d(d), query(op.getQuery()), heads(op.getNumHeads()) {}

  Value q, k, v;

  LogicalResult find() {
    Value key = d.operand(kKey), value = d.operand(kValue);
    if (failed(d.expectRank(query, "a query", {3, 5})) ||
        failed(d.expectRank(key, "a key", {3, 4, 5})) ||
        failed(d.expectRank(value, "a value", {3, 4})))
      return failure();
    if (d.rank(query) == 5) { // [b, s, n, q | k | v, d]
      if (failed(d.expectSize(query, 3, 3, "a query with keys and values")))
        return failure();
      q = d.row(query, 3, 0), k = d.row(query, 3, 1), v = d.row(query, 3, 2);
    } else if (key && d.rank(key) == 5) { // [b, t, n, k | v, d]
      if (failed(d.expectSize(key, 3, 2, "a key with values")))
        return failure();
      q = query, k = d.row(key, 3, 0), v = d.row(key, 3, 1);
    } else if (key && value) {
      q = query, k = key, v = value;
    } else {
      return d.op->emitOpError("has a query of 3 dims, but not both key and "
                               "value");
    }
    // Keys and values of 4 dims are a cache: they are heads, without bias.
    bool isCache = key && d.rank(key) == 4;
    addBias(isCache);
    q = toHeads(q);
    k = isCache ? k : toHeads(k);
    v = isCache ? v : toHeads(v);
    return success(q && k && v);
  }

private:
  /// Numbers of all heads: of [b, s, n, d] or [b, s, n * d].
  DimExpr width(Value value) {
    Decomposition::Dims dims = d.dims(value);
    return dims.size() == 4 ? dims[2] * dims[3] : dims[2];
  }

  void addBias(bool isCache) {
    Value bias = d.operand(kProjectionBias);
    if (!bias)
      return;
    DimExpr first = width(q);
    if (isCache) {
      q = d.add(q, d.slice(bias, 0, 0, first));
      return;
    }
    SmallVector<Value, 4> parts = d.split(bias, 0, {first, width(k), width(v)});
    q = addPart(q, parts[0]);
    k = addPart(k, parts[1]);
    v = addPart(v, parts[2]);
  }

  Value addPart(Value value, Value bias) {
    Decomposition::Dims dims = d.dims(value);
    if (dims.size() == 4)
      bias = d.reshape(bias, {dims[2], dims[3]});
    return d.add(value, bias);
  }

  Value toHeads(Value value) {
    return d.rank(value) == 4 ? exchangeHeads(d, value)
                              : splitHeads(d, value, heads);
  }

  Decomposition &d;
  Value query;
  int64_t heads;
};

} // namespace

LogicalResult
MicrosoftMultiHeadAttentionOp::inferTypes(ShapeInference &inference) {
  Decomposition d(*this, inference);
  MultiHeadOperands heads(*this, d);
  StringRef remedy = "export with past and present of their own sizes, without "
                     "beam search";
  if (failed(d.refuseOperand(kPastSequenceLength, "past_sequence_length",
                             remedy)) ||
      failed(d.refuseOperand(kCacheIndirection, "cache_indirection", remedy)) ||
      failed(d.refuseResult(3, "qk")) || failed(heads.find()))
    return failure();
  DimExpr past = 0;
  if (Value cache = d.operand(kPastKey)) {
    if (failed(d.expectRank(cache, "a past_key", 4)))
      return failure();
    past = d.dims(cache)[2];
  }
  Value k = appendToPast(d, d.operand(kPastKey), heads.k);
  Value v = appendToPast(d, d.operand(kPastValue), heads.v);
  std::optional<float> scale = scaleOr(d, getScale(), heads.q);
  if (!k || !v || !scale)
    return failure();
  Decomposition::Dims queries = d.dims(heads.q), keys = d.dims(k);
  ScoreMask mask;
  if (Value padding = d.operand(kKeyPadding))
    mask.addPadding(d, padding, {queries[0], queries[2], keys[2]},
                    d.element(heads.q), getMaskFilterValue().convertToDouble());
  if (getUnidirectional())
    mask.showCausal(d, causalKeys(d, past, queries[2], keys[2]),
                    d.element(heads.q));
  if (Value bias = d.operand(kScoreBias))
    if (failed(mask.addScores(d, bias, queries[2], keys[2])))
      return failure();
  Value result = attend(d, {heads.q, k, v, *scale}, mask);
  return d.replaceBy({mergeHeads(d, result), k, v});
}

} // namespace shardc::onnx
