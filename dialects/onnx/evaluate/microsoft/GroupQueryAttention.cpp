//===- GroupQueryAttention.cpp - What GroupQueryAttention computes --------===//
//
// Of row b, whose keys are seqlens_k[b] + 1 with the s new ones:
//
//   start   = max(seqlens_k[b] + 1 - s, 0)
//   keys    = past[b][:start], then the new ones
//   query i stands at start + i, and sees keys j of the row with
//           start + i - window < j <= start + i
//   y       = softmax(cap(scale q k) + bias, sink) v
//
// With sliding_window_cache past has those of the first `start` that are not gone,
// and what is kept is what is not gone of all.
//
//===----------------------------------------------------------------------===//

#include "dialects/onnx/evaluate/microsoft/AttentionRow.h"
#include "dialects/onnx/ops/microsoft/Attention.h"

#include <cmath>

using namespace mlir;

namespace shardc::onnx::evaluate {

namespace {

enum {
  kQuery,
  kNewKey,
  kNewValue,
  kOldKeys,
  kOldValues,
  kLast,
  kTotal,
  kCos,
  kSin,
  kPositions,
  kBias,
  kSink,
  kKeyScale,
  kValueScale,
  kQueryNorm,
  kKeyNorm
};

class GroupQuery {
public:
  explicit GroupQuery(Call &call)
      : d(call), op(cast<MicrosoftGroupQueryAttentionOp>(call.op)) {}

  Outcome define();

private:
  bool read();
  Outcome normAndRotate();
  Outcome join(unsigned past, const Tensor &added, Tensor &y);
  Tensor kept(const Tensor &joined);
  void norm(Tensor &heads, unsigned weight) const;
  Outcome rotate(Tensor &heads) const;
  /// Of query i of a row, as position_ids say or the row's length.
  double positionOf(int64_t row, int64_t i) const;
  bool isFirstPrompt() const;
  int64_t capacity(const Tensor *old) const;
  int64_t startOf(int64_t row) const {
    return std::max<int64_t>(lengthOf(row) - added, 0);
  }
  bool isWindowed() const { return op.getSlidingWindowCache() != 0; }
  /// Of the first `count` tokens of a row.
  int64_t goneOf(int64_t count) const;
  int64_t lengthOf(int64_t row) const {
    return int64_t(d.operand(kLast)->data[row]) + 1;
  }
  bool sees(int64_t row, int64_t query, int64_t key) const;
  Outcome attend();

  Definition d;
  mutable MicrosoftGroupQueryAttentionOp op; ///< accessors are not const
  Type element;
  int64_t batch = 0, added = 0, heads = 0, kvHeads = 0, width = 0;
  Tensor q, k, v;      ///< [b, n, s, d]
  Tensor keys, values; ///< those of before, too
};

} // namespace

/// Heads of [b, s, columns], or of one that is split already.
static Tensor headsOf(const Tensor &x, int64_t first, int64_t count,
                      int64_t width) {
  if (x.rank() == 4)
    return x;
  Tensor y(x.element, {x.shape[0], count, x.shape[1], width});
  forEachIndex(y.shape, [&](Index i) {
    at(y, i) = at(x, {i[0], i[2], (first + i[1]) * width + i[3]});
  });
  return y;
}

bool GroupQuery::read() {
  const Tensor &query = *d.operand(kQuery);
  const Tensor *key = d.operand(kNewKey), *value = d.operand(kNewValue);
  if (query.rank() != 3 || !d.operand(kLast))
    return false;
  element = query.element;
  heads = d.size(op.getNumHeads());
  kvHeads = d.size(op.getKvNumHeads());
  batch = query.shape[0], added = query.shape[1];
  const int64_t all = key ? heads : heads + 2 * kvHeads;
  if (all == 0 || kvHeads == 0 || heads % kvHeads != 0 ||
      query.shape[2] % all != 0 || d.operand(kLast)->size() != batch)
    return false;
  width = query.shape[2] / all;
  q = headsOf(query, 0, heads, width);
  k = headsOf(key ? *key : query, key ? 0 : heads, kvHeads, width);
  v = headsOf(value ? *value : query, value ? 0 : heads + kvHeads, kvHeads,
              width);
  const Shape expected = {batch, kvHeads, added, width};
  return k.shape == expected && v.shape == expected;
}

/// In place: x / sqrt(mean(x^2) + epsilon) * weight, of each head.
void GroupQuery::norm(Tensor &x, unsigned weight) const {
  const Tensor *w = d.operand(weight);
  const double epsilon = op.getQkNormEpsilon().convertToFloat();
  for (int64_t at = 0; w && at < x.size(); at += width) {
    double squares = 0;
    for (int64_t i = 0; i < width; ++i)
      squares += valueAt(x, at + i) * valueAt(x, at + i);
    const double root = std::sqrt(squares / double(width) + epsilon);
    for (int64_t i = 0; i < width; ++i)
      x.data[at + i] =
          d.as(element, valueAt(x, at + i) / root * valueAt(*w, i % w->size()));
  }
}

/// All tokens are new.
bool GroupQuery::isFirstPrompt() const {
  const Tensor *past = d.operand(kOldKeys), *total = d.operand(kTotal);
  return total ? valueAt(*total, 0) == double(added)
               : !past || past->shape[2] == 0;
}

double GroupQuery::positionOf(int64_t row, int64_t i) const {
  const Tensor *ids = d.operand(kPositions);
  if (!ids)
    return double(startOf(row) + i);
  if (isFirstPrompt())
    return valueAt(*ids, 0) + double(i);
  return at(*ids, {row, i});
}

Outcome GroupQuery::rotate(Tensor &x) const {
  const Tensor &cos = *d.operand(kCos), &sin = *d.operand(kSin);
  const int64_t pairs = cos.shape[1];
  if (2 * pairs > width)
    return Outcome::Unfit;
  const Tensor from = x;
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t i = 0; i < added; ++i) {
      const auto place = placeIn(positionOf(b, i), cos.shape[0]);
      if (!place)
        return Outcome::Invalid;
      for (int64_t h = 0; h < x.shape[1]; ++h)
        for (int64_t p = 0; p < pairs; ++p)
          turn(from, x, {b, h, i}, p, pairs, op.getRotaryInterleaved() != 0,
               at(cos, {*place, p}), at(sin, {*place, p}));
    }
  for (double &value : x.data)
    value = d.as(element, value);
  return Outcome::Done;
}

Outcome GroupQuery::normAndRotate() {
  norm(q, kQueryNorm);
  norm(k, kKeyNorm);
  if (op.getDoRotary() == 0)
    return Outcome::Done;
  if (!d.operand(kCos) || !d.operand(kSin))
    return Outcome::Unfit;
  const Outcome outcome = rotate(q);
  return outcome == Outcome::Done ? rotate(k) : outcome;
}

/// They leave when there is no room, and make some for more than one.
int64_t GroupQuery::goneOf(int64_t count) const {
  if (!isWindowed())
    return 0;
  const int64_t room = d.operand(kOldKeys)->shape[2];
  const int64_t most = room - d.size(op.getLocalWindowSize()) + 1;
  int64_t gone = 0;
  while (count - gone > room)
    gone += most;
  return gone;
}

/// A cache has room for all tokens, or grows by the new ones.
int64_t GroupQuery::capacity(const Tensor *old) const {
  if (!old)
    return added;
  if (isWindowed())
    return old->shape[2] + added;
  const Tensor *total = d.operand(kTotal);
  return total ? std::max(old->shape[2], integerAt(*total, 0))
               : old->shape[2] + added;
}

/// The old ones of a row up to its start, then the new ones.
Outcome GroupQuery::join(unsigned past, const Tensor &more, Tensor &y) {
  const Tensor *old = d.operand(past);
  if (old && (old->rank() != 4 || old->shape[0] != batch ||
              old->shape[1] != kvHeads || old->shape[3] != width))
    return Outcome::Unfit;
  const int64_t length = capacity(old);
  y = Tensor(element, {batch, kvHeads, length, width});
  for (int64_t b = 0; b < batch; ++b) {
    const int64_t start = old ? startOf(b) - goneOf(startOf(b)) : 0;
    if (start + added > length || start > (old ? old->shape[2] : 0))
      return Outcome::Invalid;
    for (int64_t h = 0; h < kvHeads; ++h)
      for (int64_t j = 0; j < start + added; ++j)
        for (int64_t e = 0; e < width; ++e)
          at(y, {b, h, j, e}) = j < start ? at(*old, {b, h, j, e})
                                          : at(more, {b, h, j - start, e});
  }
  return Outcome::Done;
}

Tensor GroupQuery::kept(const Tensor &joined) {
  if (!isWindowed())
    return joined;
  const int64_t room = joined.shape[2] - added;
  Tensor y(element, {batch, kvHeads, room, width});
  forEachIndex(y.shape, [&](Index i) {
    const int64_t from = goneOf(lengthOf(i[0])) - goneOf(startOf(i[0])) + i[2];
    at(y, i) =
        at(joined, {i[0], i[1], std::min(from, joined.shape[2] - 1), i[3]});
  });
  return y;
}

bool GroupQuery::sees(int64_t row, int64_t query, int64_t key) const {
  key += goneOf(startOf(row));
  const int64_t place = startOf(row) + query;
  const int64_t window = op.getLocalWindowSize();
  return key < lengthOf(row) && (op.getCausal() == 0 || key <= place) &&
         (window <= 0 || key > place - d.size(window));
}

Outcome GroupQuery::attend() {
  Tensor y(element, {batch, added, heads * width});
  const Tensor *bias = d.operand(kBias), *sink = d.operand(kSink);
  const auto ownWidth = d.modelSize(kQuery, 1);
  const int64_t share = d.operand(kNewKey)
                            ? int64_t(op.getNumHeads())
                            : op.getNumHeads() + 2 * op.getKvNumHeads();
  double scale = op.getScale().convertToFloat();
  if (scale == 0) {
    if (!ownWidth)
      return Outcome::Unfit;
    scale = 1 / std::sqrt(double(*ownWidth / share));
  }
  const double cap = op.getSoftcap().convertToFloat();
  const bool isSmooth = op.getSmoothSoftmax() == 1;
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t i = 0; i < added; ++i) {
        AttentionRow row;
        if (sink || isSmooth)
          row.sink = sink ? d.as(element, valueAt(*sink, h)) : 0;
        for (int64_t j = 0; j < keys.shape[2]; ++j) {
          if (!sees(b, i, j)) {
            row.hide();
            continue;
          }
          double score = 0;
          for (int64_t e = 0; e < width; ++e)
            score += at(q, {b, h, i, e}) *
                     at(keys, {b, h / (heads / kvHeads), j, e});
          score *= scale;
          if (cap > 0)
            score = cap * std::tanh(score / cap);
          // Room that a cache has has no bias.
          if (bias && j < bias->shape.back())
            score = biased(d, element, score, at(*bias, {b, h, i, j}));
          row.scores.push_back(score);
        }
        row.weigh();
        for (int64_t e = 0; e < width; ++e)
          at(y, {b, i, h * width + e}) = row.sum([&](int64_t j) {
            return at(values, {b, h / (heads / kvHeads), j, e});
          });
      }
  d.call.results[0] = std::move(y);
  return Outcome::Done;
}

Outcome GroupQuery::define() {
  if (!read())
    return Outcome::Unfit;
  const Tensor *old = d.operand(kOldKeys);
  if (isWindowed() &&
      (!old || old->rank() != 4 || !d.operand(kOldValues) ||
       int64_t(op.getLocalWindowSize()) <= 0 || d.operand(kBias) ||
       old->shape[2] < d.size(op.getLocalWindowSize())))
    return Outcome::Unfit;
  Outcome outcome = normAndRotate();
  d.call.results.emplace_back(); // written last
  if (outcome == Outcome::Done)
    outcome = join(kOldKeys, k, keys);
  if (outcome == Outcome::Done)
    outcome = join(kOldValues, v, values);
  if (outcome != Outcome::Done)
    return outcome;
  d.call.results.push_back(kept(keys));
  d.call.results.push_back(kept(values));
  return attend();
}

void defineGroupQueryAttention(Evaluators &all) {
  all.add<MicrosoftGroupQueryAttentionOp>(
      [](Call &call) { return GroupQuery(call).define(); });
}

} // namespace shardc::onnx::evaluate
