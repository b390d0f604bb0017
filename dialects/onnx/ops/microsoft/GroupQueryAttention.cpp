//===- GroupQueryAttention.cpp - com.microsoft: attention with a cache ----===//
//
// Rows of a batch may differ in length: they are padded on the right. Row i
// holds seqlens_k[i] + 1 tokens, the new ones included, so its new keys stand
// at seqlens_k[i] + 1 - s. In a prompt that is below 0 for shorter rows; there
// they stand at 0, and what a row has too many of, nobody sees:
//
//   seqlens_k = [4, 2], past [2, kv, 4, d], one new token
//   keys of row 0   p0 p1 p2 p3 n0        position 4
//   keys of row 1   p0 p1 n0 0  0         position 2
//
// With sliding_window_cache a cache of c tokens keeps no more than them, and at
// least the window w: when it is full, c - w + 1 leave it at once. What T tokens
// leave follows from T alone, so that steps of any size leave the same:
//
//   gone(T) = ceil(max(T - c, 0) / (c - w + 1)) * (c - w + 1)
//
// Keys of a step are those that were there and the new ones, [.., c + s, ..],
// whose first stands at gone(T - s); then c of them are kept, from gone(T) on.
//
//===----------------------------------------------------------------------===//

#include "dialects/onnx/ops/Arithmetic.h"
#include "dialects/onnx/ops/Attention.h"
#include "dialects/onnx/ops/Cache.h"
#include "dialects/onnx/ops/Indexing.h"
#include "dialects/onnx/ops/Logic.h"
#include "dialects/onnx/ops/Normalization.h"
#include "dialects/onnx/ops/Reduction.h"
#include "dialects/onnx/ops/microsoft/Attention.h"
#include "dialects/onnx/ops/microsoft/AttentionParts.h"

using namespace mlir;

namespace shardc::onnx {

using dist::DimExpr;

namespace {

enum Input {
  kKey = 1,
  kValue,
  kPastKey,
  kPastValue,
  kLastIndices, ///< seqlens_k: a row's length - 1
  kTotalLength,
  kCosCache,
  kSinCache,
  kPositionIds,
  kAttentionBias,
  kHeadSink,
  kKeyScale,
  kValueScale,
  kQueryNorm,
  kKeyNorm
};

class GroupQueryAttention {
public:
  GroupQueryAttention(MicrosoftGroupQueryAttentionOp op, Decomposition &d)
      : op(op), d(d), window(op.getLocalWindowSize()) {}

  LogicalResult replace() {
    if (failed(checkSupported()) || failed(findHeads()))
      return failure();
    findPositions();
    if (failed(findCapacity()))
      return failure();
    q = norm(q, kQueryNorm);
    k = norm(k, kKeyNorm);
    if (failed(rotate()))
      return failure();
    Value keys = append(kPastKey, k), values = append(kPastValue, v);
    std::optional<float> scale = scaleOr(d, op.getScale(), q);
    if (!keys || !values || !scale)
      return failure();
    AttentionHeads heads = {
        q, keys, values, *scale, op.getSoftcap().convertToFloat(), sinks()};
    Value result = attend(d, heads, mask(d.dims(keys)[2]));
    return d.replaceBy({mergeHeads(d, result), keep(keys), keep(values)});
  }

private:
  LogicalResult checkSupported();
  LogicalResult checkWindow();
  LogicalResult findHeads();
  std::optional<int64_t> biasColumns();
  LogicalResult findCapacity();
  void findPositions();
  LogicalResult findWindow();
  Value goneOf(Value counts);
  Value keep(Value joined);
  Value norm(Value heads, unsigned weight);
  /// Of a past that grows, or is none.
  DimExpr pastLength() {
    Value past = d.operand(kPastKey);
    return past ? d.dims(past)[2] : DimExpr(int64_t(0));
  }
  Value isFirstPrompt();
  FailureOr<Value> rotaryRows();
  LogicalResult rotate();
  Value append(unsigned past, Value heads);
  Value sinks();
  ScoreMask mask(DimExpr capacity);
  Value fill(Value bias, DimExpr capacity);

  MicrosoftGroupQueryAttentionOp op;
  Decomposition &d;
  const int64_t window;    ///< none: below 1
  Value q, k, v;           ///< [b, heads, s, d]
  DimExpr batch, added;    ///< b, s
  Value lengths;           ///< i64 [b], of keys
  Value pastLengths;       ///< i64 [b]
  Value positions;         ///< i64 [b, s], of queries
  bool inCapacity = false; ///< past has room for new keys
  bool isWindowed = false; ///< caches have the last tokens alone
  Value gone;              ///< i64 [b], of tokens before these; where windowed
};

} // namespace

LogicalResult GroupQueryAttention::checkSupported() {
  StringRef plain = "export with a cache of the model's own type";
  if (op.getKQuantType() != "NONE" || op.getVQuantType() != "NONE" ||
      op.getKvCacheBitWidth() != 0)
    return d.refuse("a quantised cache", plain);
  if (failed(d.refuseOperand(kKeyScale, "k_scale", plain)) ||
      failed(d.refuseOperand(kValueScale, "v_scale", plain)) ||
      failed(d.refuseResult(3, "output_qk")) ||
      failed(d.expectRank(op.getQuery(), "a query", 3)))
    return failure();
  if (!d.operand(kLastIndices))
    return op.emitOpError("has no seqlens_k");
  for (unsigned past : {kPastKey, kPastValue})
    if (failed(d.expectRank(d.operand(past), "a cache", 4)))
      return failure();
  return checkWindow();
}

LogicalResult GroupQueryAttention::checkWindow() {
  isWindowed = op.getSlidingWindowCache() != 0;
  if (!isWindowed)
    return success();
  if (window <= 0)
    return op.emitOpError(
               "has sliding_window_cache and a local_window_size of ")
           << window << ", expected one above 0";
  if (!d.operand(kPastKey) || !d.operand(kPastValue))
    return op.emitOpError("has sliding_window_cache, but not both past_key and "
                          "past_value, whose size says how much they keep");
  if (!d.operand(kTotalLength))
    return op.emitOpError("has sliding_window_cache, but no "
                          "total_sequence_length");
  return d.refuseOperand(kAttentionBias, "attention_bias",
                         "export with windowed_kv_cache=false");
}

/// A query without a key holds q | k | v.
LogicalResult GroupQueryAttention::findHeads() {
  int64_t heads = op.getNumHeads(), kvHeads = op.getKvNumHeads();
  Decomposition::Dims dims = d.dims(op.getQuery());
  batch = dims[0], added = dims[1];
  q = op.getQuery(), k = d.operand(kKey), v = d.operand(kValue);
  if (!k != !v)
    return op.emitOpError("has one of key and value, expected both or none");
  if (!k) {
    std::optional<DimExpr> size = dims[2].exactDiv(heads + 2 * kvHeads);
    if (!size)
      return op.emitOpError("has a packed query of ")
             << dims[2].str() << " columns, expected those of "
             << heads + 2 * kvHeads << " heads";
    SmallVector<Value, 4> parts =
        d.split(q, 2, {heads * *size, kvHeads * *size, kvHeads * *size});
    q = parts[0], k = parts[1], v = parts[2];
  }
  q = splitHeads(d, q, heads);
  k = d.rank(k) == 4 ? k : splitHeads(d, k, kvHeads);
  v = d.rank(v) == 4 ? v : splitHeads(d, v, kvHeads);
  if (!q || !k || !v)
    return failure();
  const Decomposition::Dims expected = {batch, kvHeads, added, d.dims(q)[3]};
  return success(succeeded(d.expectDims(k, expected, "heads of the key")) &&
                 succeeded(d.expectDims(v, expected, "heads of the value")));
}

void GroupQueryAttention::findPositions() {
  Value last = d.cast(d.operand(kLastIndices), d.i64());
  lengths = d.add(d.reshape(last, {batch}), d.integer(d.i64(), 1));
  pastLengths = d.make<MaxOp>(
      {d.sub(lengths, d.integer(d.i64(), added)), d.integer(d.i64(), 0)});
  positions = d.add(d.reshape(pastLengths, {batch, 1}), d.range(0, added));
}

/// total_sequence_length says nothing of such caches, but whether all is new.
LogicalResult GroupQueryAttention::findWindow() {
  const DimExpr capacity = pastLength();
  if (op.getDoRotary() == 0 || !d.operand(kPositionIds))
    op->setOperand(kTotalLength, d.absent());
  gone = goneOf(pastLengths);
  return d.inference.assume(op, GuardKind::AtLeast, capacity, DimExpr(window),
                            "GroupQueryAttention: a cache of " +
                                capacity.str() +
                                " with sliding_window_cache and a window of " +
                                std::to_string(window));
}

/// i64 [b]: of so many tokens, those that caches no longer have.
Value GroupQueryAttention::goneOf(Value counts) {
  const DimExpr capacity = pastLength();
  const DimExpr step = capacity - window + 1;
  Value over = d.make<MaxOp>(
      {d.sub(counts, d.integer(d.i64(), capacity)), d.integer(d.i64(), 0)});
  if (step == 1)
    return over;
  Value steps = d.make<DivOp>(
      {d.add(over, d.integer(d.i64(), step - 1)), d.integer(d.i64(), step)});
  return d.mul(steps, d.integer(d.i64(), step));
}

/// What a cache keeps of a step's keys or values. Rows behind those that there
/// are may have anything.
Value GroupQueryAttention::keep(Value joined) {
  if (!isWindowed)
    return joined;
  Decomposition::Dims dims = d.dims(joined);
  Value first = d.reshape(d.sub(goneOf(lengths), gone), {batch, 1, 1, 1});
  Value rows = d.add(
      first, d.reshape(d.range(0, pastLength()), {1, 1, pastLength(), 1}));
  rows = d.make<MinOp>({rows, d.integer(d.i64(), dims[2] - 1)});
  dims[2] = pastLength();
  return d.make<GatherElementsOp>({joined, d.expand(rows, dims)},
                                  {d.attribute("axis", 2)});
}

/// Nothing where there is no bias, or its size is not known.
std::optional<int64_t> GroupQueryAttention::biasColumns() {
  Value bias = d.operand(kAttentionBias);
  if (!bias || d.dims(bias).empty())
    return {};
  return d.dims(bias).back().asConstant();
}

/// total_sequence_length says whether the caches grow, or have room already: a
/// constant capacity is taken for room unless the value, or the size of a bias,
/// which has a column for each token, is known to be beyond it. What is assumed
/// is checked, on what is read from the data too.
LogicalResult GroupQueryAttention::findCapacity() {
  if (isWindowed)
    return findWindow();
  Value past = d.operand(kPastKey), length = d.operand(kTotalLength);
  if (!past && length)
    op->setOperand(kTotalLength, d.absent()); // what there is is new
  if (!past || !length)
    return success();
  auto total = d.inference.knownOrReadDims(op, kTotalLength);
  if (!total || total->size() != 1)
    return op.emitOpError("has total_sequence_length of type ")
           << length.getType() << ", expected one integer";
  DimExpr capacity = d.dims(past)[2];
  std::optional<int64_t> room = capacity.asConstant();
  inCapacity = room && total->front().asConstant().value_or(1) <= *room &&
               biasColumns().value_or(1) <= *room;
  GuardKind kind = inCapacity ? GuardKind::AtMost : GuardKind::Equal;
  DimExpr limit = inCapacity ? capacity : capacity + added;
  return d.inference.assume(op, kind, total->front(), limit,
                            "GroupQueryAttention: total_sequence_length " +
                                total->front().str() + " and a cache of " +
                                capacity.str() + " with " + added.str() +
                                " new tokens");
}

Value GroupQueryAttention::norm(Value heads, unsigned weight) {
  if (!d.operand(weight))
    return heads;
  return d.make<RMSNormalizationOp>(
      {heads, d.operand(weight)},
      {d.attribute("axis", -1), d.attribute("epsilon", op.getQkNormEpsilon())});
}

/// Whether all tokens are new, true or false; null where that is known.
Value GroupQueryAttention::isFirstPrompt() {
  if (inCapacity || isWindowed)
    return d.make<EqualOp>(
        {d.cast(d.reshape(d.operand(kTotalLength), {}), d.i64()),
         d.integer(d.i64(), added)});
  const DimExpr past = pastLength();
  return past.asConstant() ? Value()
                           : d.make<EqualOp>({d.integer(d.i64(), past),
                                              d.integer(d.i64(), 0)});
}

/// [b, s]: position_ids; of a first prompt the first of them, and those after
/// it, in all rows (ONNX Runtime's schema of GroupQueryAttention).
FailureOr<Value> GroupQueryAttention::rotaryRows() {
  Value ids = d.operand(kPositionIds);
  if (!ids)
    return positions;
  if (failed(d.expectRank(ids, "position_ids", 2)))
    return failure();
  ids = d.cast(ids, d.i64());
  // Their sum but for zeros: there may be none.
  auto isStart = [&](DimExpr size) {
    return d.cast(d.make<EqualOp>({d.range(0, size), d.integer(d.i64(), 0)}),
                  d.i64());
  };
  Value starts = d.mul(d.reshape(isStart(batch), {batch, 1}), isStart(added));
  Value first = d.reduce<ReduceSumOp>(d.mul(ids, starts), {0, 1});
  Value rows = d.expand(d.add(first, d.range(0, added)), {batch, added});
  if (Value isFirst = isFirstPrompt())
    return d.make<WhereOp>({isFirst, rows, ids});
  return pastLength() == 0 ? rows : ids;
}

/// Rows of the caches by position.
LogicalResult GroupQueryAttention::rotate() {
  Value cos = d.operand(kCosCache), sin = d.operand(kSinCache);
  if (op.getDoRotary() == 0) {
    for (unsigned unused : {kCosCache, kSinCache, kPositionIds})
      if (d.operand(unused))
        op->setOperand(unused, d.absent());
    return success();
  }
  if (!cos || !sin)
    return op.emitOpError("has do_rotary, but not both cos_cache and "
                          "sin_cache");
  FailureOr<Value> rows = rotaryRows();
  if (failed(rows))
    return failure();
  NamedAttribute axis = d.attribute("axis", 0);
  cos = d.make<GatherOp>({cos, *rows}, axis);
  sin = d.make<GatherOp>({sin, *rows}, axis);
  NamedAttribute form = d.attribute("interleaved", op.getRotaryInterleaved());
  q = d.make<RotaryEmbeddingOp>({q, cos, sin}, form);
  k = d.make<RotaryEmbeddingOp>({k, cos, sin}, form);
  return success(q && k);
}

Value GroupQueryAttention::append(unsigned past, Value heads) {
  Value cache = d.operand(past);
  if (!cache)
    return heads;
  SmallVector<NamedAttribute, 1> attributes;
  if (inCapacity)
    attributes.push_back(d.inference.builder.getNamedAttr(
        "in_capacity", d.inference.builder.getUnitAttr()));
  Value held = isWindowed ? d.sub(pastLengths, gone) : pastLengths;
  return d.make<CacheAppendOp>({cache, heads, held}, attributes);
}

/// Smooth softmax is a sink of score 0.
Value GroupQueryAttention::sinks() {
  if (Value sinks = d.operand(kHeadSink))
    return sinks;
  if (op.getSmoothSoftmax() != 1)
    return {};
  return d.expand(d.number(d.element(q), 0), {d.dims(q)[1]});
}

/// Keys of the row, up to the query, and no more than the window.
ScoreMask GroupQueryAttention::mask(DimExpr capacity) {
  Value keys = d.range(0, capacity);
  Value queries = d.reshape(positions, {batch, 1, added, 1});
  Value ends = d.reshape(lengths, {batch, 1, 1, 1});
  if (isWindowed) { // the first key stands behind those that are gone
    Value before = d.reshape(gone, {batch, 1, 1, 1});
    queries = d.sub(queries, before), ends = d.sub(ends, before);
  }
  ScoreMask mask;
  mask.show(d, d.make<LessOp>({keys, ends}));
  if (op.getCausal())
    mask.show(d, d.make<LessOrEqualOp>({keys, queries}));
  if (window > 0)
    mask.show(d, d.make<GreaterOp>(
                     {keys, d.sub(queries, d.integer(d.i64(), window))}));
  if (Value bias = d.operand(kAttentionBias))
    mask.isKnown &=
        succeeded(mask.addScores(d, fill(bias, capacity), added, capacity));
  return mask;
}

/// A bias for the tokens there are, with zeros for the cache's room.
Value GroupQueryAttention::fill(Value bias, DimExpr capacity) {
  Decomposition::Dims dims = d.dims(bias);
  if (!inCapacity || dims.size() != 4 || dims[3] == capacity)
    return bias;
  dims[3] = capacity - dims[3];
  return d.concat({bias, d.expand(d.number(d.element(bias), 0), dims)}, 3);
}

LogicalResult
MicrosoftGroupQueryAttentionOp::inferTypes(ShapeInference &inference) {
  Decomposition d(*this, inference);
  return GroupQueryAttention(*this, d).replace();
}

} // namespace shardc::onnx
