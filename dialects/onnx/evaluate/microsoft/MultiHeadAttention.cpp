//===- MultiHeadAttention.cpp - What MultiHeadAttention computes ----------===//

#include "dialects/onnx/evaluate/microsoft/AttentionHeads.h"
#include "dialects/onnx/ops/microsoft/Attention.h"

using namespace mlir;

namespace shardc::onnx::evaluate {

namespace {

class MultiHead {
public:
  explicit MultiHead(Call &call)
      : d(call), op(cast<MicrosoftMultiHeadAttentionOp>(call.op)) {}

  Outcome define();

private:
  /// Heads of an operand in any of its layouts; of one that packs several,
  /// `part`. `biasAt` is where the bias of the part begins, below 0 for none.
  std::optional<Tensor> part(const Tensor &x, int64_t part, int64_t biasAt);
  bool readHeads();

  Definition d;
  MicrosoftMultiHeadAttentionOp op;
  int64_t count = 0; ///< of heads
  Heads h;
};

} // namespace

std::optional<Tensor> MultiHead::part(const Tensor &x, int64_t part,
                                      int64_t biasAt) {
  const Tensor *bias = d.operand(3);
  if (x.rank() == 4) // heads of a cache
    return x;
  const bool isPacked = x.rank() == 5; // [b, s, n, parts, d]
  if ((x.rank() != 3 && !isPacked) || count <= 0 ||
      (isPacked ? x.shape[2] != count : x.shape[2] % count != 0))
    return std::nullopt;
  const int64_t width = isPacked ? x.shape[4] : x.shape[2] / count;
  if (bias && biasAt >= 0 && biasAt + count * width > bias->size())
    return std::nullopt;
  Tensor y(x.element, {x.shape[0], count, x.shape[1], width});
  forEachIndex(y.shape, [&](Index i) {
    const int64_t column = i[1] * width + i[3];
    const double value = isPacked ? at(x, {i[0], i[2], i[1], part, i[3]})
                                  : at(x, {i[0], i[2], column});
    at(y, i) = bias && biasAt >= 0
                   ? d.as(x.element, value + valueAt(*bias, biasAt + column))
                   : value;
  });
  return y;
}

bool MultiHead::readHeads() {
  const Tensor &query = *d.operand(0);
  const Tensor *key = d.operand(1), *value = d.operand(2);
  count = d.size(op.getNumHeads());
  const bool isOne = query.rank() == 5;
  const Tensor *keys = isOne ? &query : key;
  const bool isPair = keys && keys->rank() == 5;
  const Tensor *values = isPair ? keys : value;
  if (!keys || !values)
    return false;
  auto q = part(query, 0, 0);
  if (!q)
    return false;
  const int64_t behindQ = count * q->shape[3];
  auto k = part(*keys, isOne ? 1 : 0, behindQ);
  if (!k)
    return false;
  auto v = part(*values,
                isOne    ? 2
                : isPair ? 1
                         : 0,
                behindQ + count * k->shape[3]);
  if (!v)
    return false;
  h.q = std::move(*q), h.k = std::move(*k), h.v = std::move(*v);
  return true;
}

Outcome MultiHead::define() {
  if (d.operand(8) || d.operand(9) || !readHeads())
    return Outcome::Unfit;
  auto keys = behind(d.operand(6), 0, h.k);
  auto values = behind(d.operand(7), 0, h.v);
  h.scale = op.getScale().convertToFloat();
  auto columns = d.modelSize(0, 1);
  if (!keys || !values || (h.scale == 0 && !columns))
    return Outcome::Unfit;
  if (h.scale == 0) {
    const bool areHeads = d.operand(0)->rank() == 5;
    h.scale =
        1 / std::sqrt(double(areHeads ? *columns
                                      : *columns / int64_t(op.getNumHeads())));
  }
  h.k = std::move(*keys), h.v = std::move(*values);
  h.past = d.operand(6) ? d.operand(6)->shape[2] : 0;
  h.isCausal = op.getUnidirectional() != 0;
  h.padding = d.operand(4);
  h.bias = d.operand(5);
  h.filter = filterOf(h.q.element, op.getMaskFilterValue());
  std::optional<Tensor> y = attendTo(d, h);
  if (!y)
    return Outcome::Unfit;
  d.call.results.push_back(std::move(*y));
  d.call.results.push_back(std::move(h.k));
  d.call.results.push_back(std::move(h.v));
  return Outcome::Done;
}

void defineMultiHeadAttention(Evaluators &all) {
  all.add<MicrosoftMultiHeadAttentionOp>(
      [](Call &call) { return MultiHead(call).define(); });
}

} // namespace shardc::onnx::evaluate
