//===- Attention.h - Attention, of tensors --------------------------------===//
//
// What Attention and PagedAttention compute from the keys that a query may see.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_DIALECTS_ONNX_EVALUATE_ATTENTION_H
#define SHARDC_DIALECTS_ONNX_EVALUATE_ATTENTION_H

#include "dialects/onnx/evaluate/Evaluate.h"

namespace shardc::onnx::evaluate {

/// The keys that queries see: the last `window`, if that is not 0, up to their
/// own, `offset` places on.
struct Causality {
  bool isCausal;
  int64_t offset, window;

  bool shows(int64_t query, int64_t key) const {
    const int64_t last = query + offset;
    return !isCausal || (key <= last && (window == 0 || key > last - window));
  }
};

struct AttentionForm {
  double scale, softcap;
  Causality causality;
  llvm::StringRef zeroRows;
};

/// q [b, h, s, d], k [b, kv, t, d], v [b, kv, t, e], mask that broadcasts to
/// [b, h, s, t] and sinks [h], both null if absent -> [b, h, s, e]; of no type
/// if the sizes do not fit.
Tensor attended(Call &call, const AttentionForm &form, const Tensor &q,
                const Tensor &k, const Tensor &v, const Tensor *mask,
                const Tensor *sinks);

} // namespace shardc::onnx::evaluate

#endif // SHARDC_DIALECTS_ONNX_EVALUATE_ATTENTION_H
