//===- RotaryEmbedding.cpp - What RotaryEmbedding computes ----------------===//

#include "dialects/onnx/evaluate/microsoft/AttentionHeads.h"
#include "dialects/onnx/ops/microsoft/Attention.h"

using namespace mlir;

namespace shardc::onnx::evaluate {

/// Of each head as many elements turn as the caches have angles for.
static Outcome rotary(Call &call) {
  Definition d(call);
  auto op = cast<MicrosoftRotaryEmbeddingOp>(call.op);
  const Tensor &x = *d.operand(0), &ids = *d.operand(1), &cos = *d.operand(2);
  const Tensor &sin = *d.operand(3);
  if (cos.rank() != 2 || sin.shape != cos.shape ||
      op.getIsPackedBatching() != 0)
    return Outcome::Unknown;
  const int64_t pairs = cos.shape[1];
  const bool isFlat = x.rank() == 3;
  const int64_t named = d.size(op.getNumHeads());
  const bool isPart = op.getRotaryEmbeddingDim() > 0;
  const int64_t width = !isFlat           ? x.shape[3]
                        : isPart && named ? x.shape[2] / named
                                          : 2 * pairs;
  if (width == 0 || 2 * pairs > width || (isFlat && x.shape[2] % width != 0) ||
      (isPart && d.size(op.getRotaryEmbeddingDim()) != 2 * pairs))
    return Outcome::Unfit;
  const Tensor heads =
      isFlat ? splitColumns(x, 0, x.shape[2] / width, width) : x;
  Tensor turned = heads;
  const Shape &shape = heads.shape;
  for (int64_t b = 0; b < shape[0]; ++b)
    for (int64_t i = 0; i < shape[2]; ++i) {
      const double id =
          ids.rank() == 1 ? valueAt(ids, 0) + double(i) : at(ids, {b, i});
      const auto place = placeIn(id, cos.shape[0]);
      if (!place)
        return Outcome::Invalid;
      for (int64_t n = 0; n < shape[1]; ++n)
        for (int64_t p = 0; p < pairs; ++p)
          turn(heads, turned, {b, n, i}, p, pairs, op.getInterleaved() != 0,
               at(cos, {*place, p}), at(sin, {*place, p}));
    }
  Tensor &y = d.result(x.element, x.shape);
  forEachIndex(turned.shape, [&](Index i) {
    if (isFlat)
      at(y, {i[0], i[2], i[1] * width + i[3]}) = at(turned, i);
    else
      at(y, i) = at(turned, i);
  });
  return Outcome::Done;
}

void defineRotaryEmbedding(Evaluators &all) {
  all.add<MicrosoftRotaryEmbeddingOp>(rotary);
}

} // namespace shardc::onnx::evaluate
