//===- AttentionHeads.cpp - Attention of heads ----------------------------===//

#include "dialects/onnx/evaluate/microsoft/AttentionHeads.h"

using namespace mlir;

namespace shardc::onnx::evaluate {

double filterOf(Type element, const llvm::APFloat &filter) {
  return std::max(filter.convertToDouble(), -largestOf(element));
}

std::optional<Tensor> attendTo(const Definition &d, const Heads &h) {
  const int64_t batch = h.q.shape[0], heads = h.q.shape[1];
  const int64_t queries = h.q.shape[2], width = h.q.shape[3];
  const int64_t keys = h.k.shape[2], columns = h.v.shape[3];
  const KeyPadding padding{h.padding, batch, queries, keys};
  const Shape scored = {batch, heads, queries, keys};
  if (h.k.shape != Shape{batch, heads, keys, width} ||
      h.v.shape != Shape{batch, heads, keys, columns} || !padding.isValid() ||
      (h.bias && !reaches(*h.bias, scored)))
    return std::nullopt;
  Tensor y(h.q.element, {batch, queries, heads * columns});
  const bool hidesByLowest = h.padding && h.filter == -largestOf(h.q.element);
  forEachIndex({batch, heads, queries}, [&](Index at3) {
    const int64_t b = at3[0], n = at3[1], i = at3[2];
    AttentionRow row;
    for (int64_t j = 0; j < keys; ++j) {
      const bool isLater = h.isCausal && j > h.past + i && i + 1 < queries;
      if (isLater && !hidesByLowest) {
        row.hide();
        continue;
      }
      double score = 0;
      for (int64_t e = 0; e < width; ++e)
        score += at(h.q, {b, n, i, e}) * at(h.k, {b, n, j, e});
      score *= h.scale;
      const double filter = isLater || padding.hides(b, i, j) ? h.filter : 0;
      const double bias = h.bias ? at(*h.bias, {b, n, i, j}) : 0;
      if (h.bias || h.padding)
        score = biased(d, y.element, score, d.as(y.element, filter + bias));
      row.scores.push_back(score);
    }
    row.weigh();
    for (int64_t e = 0; e < columns; ++e)
      at(y, {b, i, n * columns + e}) =
          row.sum([&](int64_t j) { return at(h.v, {b, n, j, e}); });
  });
  return y;
}

Tensor splitColumns(const Tensor &x, int64_t first, int64_t heads,
                    int64_t width) {
  Tensor y(x.element, {x.shape[0], heads, x.shape[1], width});
  forEachIndex(y.shape, [&](Index i) {
    at(y, i) = at(x, {i[0], i[2], first + i[1] * width + i[3]});
  });
  return y;
}

std::optional<Tensor> behind(const Tensor *past, int64_t plane,
                             const Tensor &added) {
  if (!past)
    return added;
  const bool isPair = past->rank() == 5;
  const Shape old(past->shape.begin() + (isPair ? 1 : 0), past->shape.end());
  if (old.size() != 4 || old[0] != added.shape[0] || old[1] != added.shape[1] ||
      old[3] != added.shape[3] || (isPair && past->shape[0] != 2))
    return std::nullopt;
  Shape shape = added.shape;
  shape[2] += old[2];
  Tensor y(added.element, shape);
  forEachIndex(shape, [&](Index i) {
    if (i[2] >= old[2])
      at(y, i) = at(added, {i[0], i[1], i[2] - old[2], i[3]});
    else
      at(y, i) =
          isPair ? at(*past, {plane, i[0], i[1], i[2], i[3]}) : at(*past, i);
  });
  return y;
}

} // namespace shardc::onnx::evaluate
