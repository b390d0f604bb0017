//===- AttentionHeads.h - Attention of heads -----------------------------===//
//
//   score(i, j) = scale q_i k_j + bias(i, j) + (hidden by the mask ? filter : 0)
//   y_i         = sum_j softmax(score(i))_j v_j
//
// Unidirectional, query i of s sees the past and keys up to its own; the last
// one sees all. Others have the lowest number of the type added, which is -inf but
// where the filter is that number, too: a row that sees no key has all alike then.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_DIALECTS_ONNX_EVALUATE_MICROSOFT_ATTENTIONHEADS_H
#define SHARDC_DIALECTS_ONNX_EVALUATE_MICROSOFT_ATTENTIONHEADS_H

#include "dialects/onnx/evaluate/microsoft/AttentionRow.h"

namespace shardc::onnx::evaluate {

/// Heads [b, n, s, d], and all that scores them.
struct Heads {
  Tensor q, k, v;
  const Tensor *bias = nullptr, *padding = nullptr;
  int64_t past = 0;
  bool isCausal = false;
  double scale = 1, filter = 0;
};

/// [b, s, n * e]; nothing where sizes do not fit.
std::optional<Tensor> attendTo(const Definition &d, const Heads &h);

/// The filter, no lower than the lowest number of the type.
double filterOf(mlir::Type element, const llvm::APFloat &filter);

/// [b, n, s, d] of columns [first, first + n * d) of [b, s, columns].
Tensor splitColumns(const Tensor &x, int64_t first, int64_t heads,
                    int64_t width);

/// What the past holds, then the new ones; `plane` of a past of two. Nothing
/// where sizes do not fit.
std::optional<Tensor> behind(const Tensor *past, int64_t plane,
                             const Tensor &added);

} // namespace shardc::onnx::evaluate

#endif // SHARDC_DIALECTS_ONNX_EVALUATE_MICROSOFT_ATTENTIONHEADS_H
