//===- Cache.cpp - What CacheAppend computes ------------------------------===//

#include "dialects/onnx/ops/Cache.h"
#include "dialects/onnx/evaluate/Evaluate.h"

using namespace mlir;

namespace shardc::onnx::evaluate {

/// Row i is past[i, :, :lengths[i]], then added[i], then zeros.
static Outcome append(Call &call) {
  const Tensor &past = call.operand(0), &added = call.operand(1);
  const Tensor &lengths = call.operand(2);
  Tensor *y = call.addResult();
  if (!y || past.rank() != 4 || added.rank() != 4 || y->rank() != 4 ||
      lengths.size() != past.shape[0] || added.shape[3] != past.shape[3])
    return Outcome::Unfit;
  const int64_t kept = past.shape[2], more = added.shape[2];
  const int64_t whole = y->shape[2], size = past.shape[3];
  for (int64_t row = 0; row < past.shape[0] * past.shape[1]; ++row) {
    const double asked = lengths.data[row / past.shape[1]];
    if (!(asked >= 0 && asked <= double(kept) &&
          asked + double(more) <= double(whole)))
      return Outcome::Invalid;
    const int64_t length = int64_t(asked);
    auto to = y->data.begin() + row * whole * size;
    std::copy_n(past.data.begin() + row * kept * size, length * size, to);
    std::copy_n(added.data.begin() + row * more * size, more * size,
                to + length * size);
  }
  return Outcome::Done;
}

void addCache(Evaluators &all) { all.add<CacheAppendOp>(append); }

} // namespace shardc::onnx::evaluate
