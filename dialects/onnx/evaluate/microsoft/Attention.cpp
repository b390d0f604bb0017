//===- Attention.cpp - What Attention and QAttention compute --------------===//
//
// Heads of q | k | v, columns of one product (AttentionHeads.h).
//
//===----------------------------------------------------------------------===//

#include "dialects/onnx/ops/microsoft/Attention.h"
#include "dialects/onnx/evaluate/microsoft/AttentionHeads.h"

#include <array>

using namespace mlir;

namespace shardc::onnx::evaluate {

namespace {

/// Columns q | k | v of one projection.
struct Projected {
  Tensor columns; ///< [b, s, q | k | v]
  std::array<int64_t, 3> sizes;
  std::optional<int64_t> ownWidth; ///< of the model's heads
};

} // namespace

template <typename OpTy>
static Outcome attendProjected(Definition &d, OpTy op, const Projected &all,
                               Heads &h, const Tensor *past) {
  const int64_t heads = d.size(op.getNumHeads());
  for (int64_t size : all.sizes)
    if (heads <= 0 || size % heads != 0)
      return Outcome::Unfit;
  Tensor *parts[] = {&h.q, &h.k, &h.v};
  int64_t first = 0;
  for (int i = 0; i < 3; ++i) {
    *parts[i] = splitColumns(all.columns, first, heads, all.sizes[i] / heads);
    first += all.sizes[i];
  }
  auto keys = behind(past, 0, h.k), values = behind(past, 1, h.v);
  h.scale = op.getScale().convertToFloat();
  if (!keys || !values || (h.scale == 0 && !all.ownWidth))
    return Outcome::Unfit;
  if (h.scale == 0)
    h.scale = 1 / std::sqrt(double(*all.ownWidth));
  h.k = std::move(*keys), h.v = std::move(*values);
  h.past = past ? past->shape[3] : 0;
  h.isCausal = op.getUnidirectional() != 0;
  h.filter = filterOf(h.q.element, op.getMaskFilterValue());
  std::optional<Tensor> y = attendTo(d, h);
  if (!y)
    return Outcome::Unfit;
  d.call.results.push_back(std::move(*y));
  if (d.call.op->getNumResults() < 2 || h.k.shape != h.v.shape)
    return Outcome::Done;
  Shape both = {2};
  both.append(h.k.shape);
  Tensor &present = d.result(h.k.element, both);
  llvm::copy(h.k.data, present.data.begin());
  llvm::copy(h.v.data, present.data.begin() + h.k.size());
  return Outcome::Done;
}

static Outcome attention(Call &call) {
  Definition d(call);
  auto op = cast<MicrosoftAttentionOp>(call.op);
  const Tensor &x = *d.operand(0), &w = *d.operand(1), *b = d.operand(2);
  if (d.operand(6) || x.rank() != 3 || w.rank() != 2 ||
      w.shape[0] != x.shape[2] || (b && b->size() != w.shape[1]))
    return Outcome::Unfit;
  Projected all{
      Tensor(x.element, {x.shape[0], x.shape[1], w.shape[1]}), {}, {}};
  forEachIndex(all.columns.shape, [&](Index i) {
    double sum = b ? valueAt(*b, i[2]) : 0;
    for (int64_t k = 0; k < w.shape[0]; ++k)
      sum += at(x, {i[0], i[1], k}) * at(w, {k, i[2]});
    at(all.columns, i) = d.as(x.element, sum);
  });
  std::optional<int64_t> width = d.modelSize(1, 1);
  if (auto sizes = op.getQkvHiddenSizes()) {
    for (int i = 0; i < 3; ++i)
      all.sizes[i] = d.size((*sizes)[i]);
    all.ownWidth = (*sizes)[0] / int64_t(op.getNumHeads());
  } else {
    all.sizes.fill(w.shape[1] / 3);
    if (width)
      all.ownWidth = *width / 3 / int64_t(op.getNumHeads());
  }
  if (all.sizes[0] + all.sizes[1] + all.sizes[2] != w.shape[1])
    return Outcome::Unfit;
  Heads heads;
  heads.padding = d.operand(3);
  heads.bias = d.operand(5);
  return attendProjected(d, op, all, heads, d.operand(4));
}

static Outcome quantizedAttention(Call &call) {
  Definition d(call);
  auto op = cast<MicrosoftQAttentionOp>(call.op);
  const Tensor &x = *d.operand(0), &w = *d.operand(1), &b = *d.operand(2);
  const Tensor &xScale = *d.operand(3), &wScale = *d.operand(4);
  const Tensor *xZero = d.operand(6), *wZero = d.operand(7);
  if (x.rank() != 3 || w.rank() != 2 || w.shape[0] != x.shape[2] ||
      b.size() != w.shape[1] || w.shape[1] % 3 != 0)
    return Outcome::Unfit;
  auto perColumn = [](const Tensor *p, int64_t i) {
    return p ? valueAt(*p, p->size() == 1 ? 0 : i) : 0;
  };
  Projected all{
      Tensor(b.element, {x.shape[0], x.shape[1], w.shape[1]}), {}, {}};
  forEachIndex(all.columns.shape, [&](Index i) {
    double sum = 0;
    for (int64_t k = 0; k < w.shape[0]; ++k)
      sum += (at(x, {i[0], i[1], k}) - perColumn(xZero, 0)) *
             (at(w, {k, i[2]}) - perColumn(wZero, i[2]));
    at(all.columns, i) =
        d.as(b.element, sum * (valueAt(xScale, 0) * perColumn(&wScale, i[2])) +
                            valueAt(b, i[2]));
  });
  all.sizes.fill(w.shape[1] / 3);
  if (auto width = d.modelSize(1, 1))
    all.ownWidth = *width / 3 / int64_t(op.getNumHeads());
  Heads heads;
  heads.padding = d.operand(5);
  return attendProjected(d, op, all, heads, d.operand(8));
}

void defineAttention(Evaluators &all) {
  all.add<MicrosoftAttentionOp>(attention);
  all.add<MicrosoftQAttentionOp>(quantizedAttention);
}

} // namespace shardc::onnx::evaluate
