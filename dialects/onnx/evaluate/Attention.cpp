//===- Attention.cpp - What Attention and RotaryEmbedding compute ---------===//
//
// Attention is spelt out as two products around a softmax:
//
//   s = cap(scale Q K^T) + mask, -inf where a query does not see a key
//   Y = softmax(s, sink) V
//
// in the type that kernels compute in. Where the mask is of a narrow float, so
// are the scores that it is added to. What it hides is hidden, whatever its
// score.
//
//===----------------------------------------------------------------------===//

#include "dialects/onnx/evaluate/Attention.h"
#include "dialects/onnx/evaluate/Elementwise.h"
#include "dialects/onnx/evaluate/Functions.h"
#include "dialects/onnx/ops/Attention.h"

#include <cmath>

using namespace mlir;

namespace shardc::onnx::evaluate {

/// [b, kv, t, d] for all of `heads` query heads.
static Tensor repeated(const Tensor &x, int64_t heads) {
  Shape shape = x.shape;
  shape[1] = heads;
  const int64_t group = x.shape[1] == 0 ? 1 : heads / x.shape[1];
  const int64_t size = x.shape[2] * x.shape[3];
  Tensor y(x.element, shape);
  for (int64_t b = 0; b < shape[0]; ++b)
    for (int64_t h = 0; h < heads; ++h)
      std::copy_n(x.data.begin() + (b * x.shape[1] + h / group) * size, size,
                  y.data.begin() + (b * heads + h) * size);
  return y;
}

static Tensor swapped(const Tensor &x) {
  Shape shape = x.shape, strides = stridesOf(x.shape);
  std::swap(shape[2], shape[3]);
  std::swap(strides[2], strides[3]);
  Tensor y(x.element, shape);
  double *to = y.data.data();
  forEachPosition<1>(shape, {strides},
                     [&](const int64_t (&at)[1]) { *to++ = x.data[at[0]]; });
  return y;
}

/// cap(scale Q K^T)
static Tensor scoresOf(Call &call, const AttentionForm &form, Tensor q,
                       const Tensor &k) {
  const Type wide = computedIn(q.element);
  q.element = wide;
  Tensor scores = product(q, swapped(repeated(k, q.shape[1])), call.overflows);
  if (!scores.element)
    return {};
  for (double &score : scores.data) {
    score = stored(wide, score * form.scale, call.precision);
    if (form.softcap > 0)
      score = stored(wide, form.softcap * std::tanh(score / form.softcap),
                     call.precision);
  }
  return scores;
}

static Tensor masked(Call &call, const Tensor &scores, const Tensor &mask) {
  const Type narrow = mask.element;
  if (narrow.isInteger(1))
    return combined(scores, mask, [](double score, double shown) {
      return shown != 0 ? score : -INFINITY;
    });
  auto rounded = [&](double x) { return stored(narrow, x, call.precision); };
  return combined(scores, mask, [&](double score, double added) {
    return added == -INFINITY ? added : rounded(rounded(score) + added);
  });
}

/// What the softmax of a row of scores becomes where it is not a number.
static double emptyRow(StringRef zeroRows, bool isHidden) {
  return zeroRows == "nan" || (zeroRows == "hidden" && isHidden) ? 0 : NAN;
}

/// Softmax of each row, with one more score for each if there are sinks.
static void weigh(Tensor &scores, const Tensor *sinks, StringRef zeroRows) {
  const int64_t keys = scores.shape[3], rows = scores.shape[2];
  for (int64_t row = 0; keys > 0 && row < scores.size() / keys; ++row) {
    const int64_t head = row / rows % scores.shape[1];
    Tensor all(scores.element, {1, keys});
    std::copy_n(scores.data.begin() + row * keys, keys, all.data.begin());
    if (sinks) {
      all.shape[1] = keys + 1;
      all.data.push_back(sinks->data[head]);
    }
    bool isHidden = true;
    for (double score : all.data)
      isHidden &= score == -INFINITY;
    const double empty = emptyRow(zeroRows, isHidden);
    const Tensor weights = softmax(all, 1);
    for (int64_t i = 0; i < keys; ++i)
      scores.data[row * keys + i] =
          std::isnan(weights.data[i]) ? empty : weights.data[i];
  }
}

/// q b h s d, k b kv t d and v b kv t e, where kv divides h.
static bool fits(const Tensor &q, const Tensor &k, const Tensor &v) {
  return q.rank() == 4 && k.rank() == 4 && v.rank() == 4 &&
         q.shape[0] == k.shape[0] && v.shape[0] == k.shape[0] &&
         v.shape[1] == k.shape[1] && v.shape[2] == k.shape[2] &&
         (k.shape[1] == 0 ? q.shape[1] == 0 : q.shape[1] % k.shape[1] == 0);
}

Tensor attended(Call &call, const AttentionForm &form, const Tensor &q,
                const Tensor &k, const Tensor &v, const Tensor *mask,
                const Tensor *sinks) {
  if (!fits(q, k, v))
    return {};
  Tensor scores = scoresOf(call, form, q, k);
  if (scores.element && mask) {
    const Shape shape = scores.shape;
    scores = masked(call, scores, *mask);
    if (scores.shape != shape)
      return {};
  }
  if (!scores.element || (sinks && sinks->shape != Shape{q.shape[1]}))
    return {};
  const int64_t keys = scores.shape[3], queries = scores.shape[2];
  for (int64_t i = 0; i < scores.size(); ++i)
    if (!form.causality.shows(i / keys % queries, i % keys))
      scores.data[i] = -INFINITY;
  weigh(scores, sinks, form.zeroRows);
  bool overflows = false; // weighted means of values stay in their range
  return product(scores, repeated(v, scores.shape[1]), overflows);
}

static std::optional<AttentionForm> formOf(Call &call, AttentionOp op) {
  if (call.operand(0).rank() != 4)
    return std::nullopt;
  AttentionForm form = {
      op.getScale() ? op.getScale()->convertToFloat()
                    : 1 / std::sqrt(double(call.operand(0).shape[3])),
      op.getSoftcap().convertToFloat(),
      {op.getIsCausal() != 0, 0, call.sizes.of(int64_t(op.getWindow()))},
      op.getZeroRows()};
  if (dist::DimsAttr offset = op.getCausalOffsetAttr()) {
    auto known = call.sizes.of(offset.getValues()[0]);
    if (!known)
      return std::nullopt;
    form.causality.offset = *known;
  }
  return form;
}

static Outcome attend(Call &call) {
  auto op = cast<AttentionOp>(call.op);
  if (call.op->getNumResults() != 1)
    return Outcome::Unknown;
  for (unsigned i : {AttentionOperand::PastKey, AttentionOperand::PastValue,
                     AttentionOperand::Lengths})
    if (call.has(i))
      return Outcome::Unknown;
  auto optional = [&](unsigned i) {
    return call.has(i) ? &call.operand(i) : nullptr;
  };
  std::optional<AttentionForm> form = formOf(call, op);
  if (!form)
    return Outcome::Unfit;
  Tensor y = attended(call, *form, call.operand(0), call.operand(1),
                      call.operand(2), optional(AttentionOperand::Mask),
                      optional(AttentionOperand::Sinks));
  return y.element ? call.finish(std::move(y)) : Outcome::Unfit;
}

/// Pairs (i, i + r / 2), or (2 i, 2 i + 1), of the first r elements turn by the
/// angle whose cosine and sine are i of their row; the rest stays.
static Outcome rotate(Call &call) {
  auto op = cast<RotaryEmbeddingOp>(call.op);
  const Tensor &x = call.operand(0), &cos = call.operand(1);
  const Tensor &sin = call.operand(2);
  if (call.has(3))
    return Outcome::Unknown;
  if (x.rank() != 4 || cos.rank() != 3 || cos.shape != sin.shape)
    return Outcome::Unfit;
  const int64_t heads = x.shape[1], rows = x.shape[2], size = x.shape[3];
  int64_t turned = call.sizes.of(int64_t(op.getRotaryEmbeddingDim()));
  turned = turned == 0 ? 2 * cos.shape[2] : turned; // r/2 columns
  const int64_t pairs = turned / 2;
  if ((cos.shape[0] != x.shape[0] && cos.shape[0] != 1) ||
      cos.shape[1] != rows || cos.shape[2] != pairs || turned > size ||
      turned % 2 != 0)
    return Outcome::Unfit;
  const Type wide = computedIn(x.element);
  auto kept = [&](double v) { return stored(wide, v, call.precision); };
  Tensor y = x;
  for (int64_t row = 0; size > 0 && row < x.size() / size; ++row) {
    const int64_t batch = cos.shape[0] == 1 ? 0 : row / (heads * rows);
    const int64_t angle = (batch * rows + row % rows) * pairs;
    for (int64_t i = 0; i < pairs; ++i) {
      const int64_t first = row * size + (op.getInterleaved() ? 2 * i : i);
      const int64_t second = first + (op.getInterleaved() ? 1 : pairs);
      const double c = cos.data[angle + i], s = sin.data[angle + i];
      y.data[first] = kept(c * x.data[first]) - kept(s * x.data[second]);
      y.data[second] = kept(s * x.data[first]) + kept(c * x.data[second]);
    }
  }
  return call.finish(std::move(y));
}

void addAttention(Evaluators &all) {
  all.add<AttentionOp>(attend);
  all.add<RotaryEmbeddingOp>(rotate);
}

} // namespace shardc::onnx::evaluate
