//===- AttentionReference.h - Attention from its definition ---------------===//
#ifndef SHARDC_TESTS_UNIT_KERNELS_ATTENTIONREFERENCE_H
#define SHARDC_TESTS_UNIT_KERNELS_ATTENTIONREFERENCE_H

#include "tests/unit/kernels/KernelTest.h"

#include <cmath>

namespace shardc::runtime::host {

struct Problem {
  Tensor q, k, v;
  Tensor mask = Tensor::absent();
  double scale = 0.5, softcap = 0;
  bool causal = false;
  int64_t offset = 0, window = 0;
  Tensor sinks = Tensor::absent();
  std::string_view zeroRows = "hidden";
  int64_t operandBits = 0; ///< 16: products may round

  Attributes attributes() const {
    return Attributes()
        .ints("operand_bits", {operandBits})
        .number("scale", scale)
        .number("softcap", softcap)
        .ints("is_causal", {causal})
        .ints("causal_offset", {offset})
        .ints("window", {window})
        .text("zero_rows", zeroRows);
  }
};

inline double biasAt(const Problem &s, const Dims &at) {
  const int64_t last = at[2] + s.offset;
  if (s.causal && at[3] > last)
    return -INFINITY;
  if (s.causal && s.window > 0 && at[3] <= last - s.window)
    return -INFINITY;
  if (s.mask.view.isAbsent())
    return 0;
  if (s.mask.view.element == artifact::ElementType_Bool)
    return s.mask.at<Boolean>(at) ? 0 : -INFINITY;
  return s.mask.at<float>(at);
}

/// One output element from the definition, in double.
template <typename T> double attend(const Problem &s, const Dims &at) {
  const int64_t keys = s.k.view.dims[2];
  const int64_t head = at[1] / (s.q.view.dims[1] / s.k.view.dims[1]);
  double total = 0, sum = 0;
  for (int64_t j = 0; j < keys; ++j) {
    double score = 0;
    for (int64_t d = 0; d < s.q.view.dims[3]; ++d)
      score += s.scale * double(s.q.at<T>({at[0], at[1], at[2], d})) *
               double(s.k.at<T>({at[0], head, j, d}));
    if (s.softcap > 0)
      score = s.softcap * std::tanh(score / s.softcap);
    const double weight = std::exp(score + biasAt(s, {at[0], at[1], at[2], j}));
    total += weight;
    sum += weight * double(s.v.at<T>({at[0], head, j, at[3]}));
  }
  if (!s.sinks.view.isAbsent())
    total += std::exp(double(s.sinks.at<T>({at[1]})));
  const bool isZero = s.zeroRows != "none" || s.k.view.dims[2] == 0;
  return total == 0 && isZero ? 0 : sum / total;
}

} // namespace shardc::runtime::host

#endif // SHARDC_TESTS_UNIT_KERNELS_ATTENTIONREFERENCE_H
