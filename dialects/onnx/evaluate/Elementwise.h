//===- Elementwise.h - Functions of one, two or three elements ------------===//
#ifndef SHARDC_DIALECTS_ONNX_EVALUATE_ELEMENTWISE_H
#define SHARDC_DIALECTS_ONNX_EVALUATE_ELEMENTWISE_H

#include "dialects/onnx/evaluate/Evaluate.h"

namespace shardc::onnx::evaluate {

template <typename F> Tensor mapped(const Tensor &x, F f) {
  Tensor y = x;
  for (double &value : y.data)
    value = f(value);
  return y;
}

/// f of elements that broadcast to each other; of no type if they do not.
template <typename F> Tensor combined(const Tensor &a, const Tensor &b, F f) {
  Shape shape = a.shape;
  if (!broadcast(shape, b.shape))
    return {};
  Tensor y(a.element, shape);
  if (a.shape == b.shape) {
    for (size_t i = 0; i < y.data.size(); ++i)
      y.data[i] = f(a.data[i], b.data[i]);
    return y;
  }
  double *to = y.data.data();
  forEachPosition<2>(
      shape,
      {broadcastStrides(a.shape, shape), broadcastStrides(b.shape, shape)},
      [&](const int64_t (&at)[2]) { *to++ = f(a.data[at[0]], b.data[at[1]]); });
  return y;
}

template <typename F> Outcome unary(Call &call, F f) {
  return call.finish(mapped(call.operand(0), f));
}

template <typename F> Outcome binary(Call &call, F f) {
  Tensor result = combined(call.operand(0), call.operand(1), f);
  return result.element ? call.finish(std::move(result)) : Outcome::Unfit;
}

inline bool isInteger(const Tensor &x) {
  return llvm::isa<mlir::IntegerType>(x.element);
}

} // namespace shardc::onnx::evaluate

#endif // SHARDC_DIALECTS_ONNX_EVALUATE_ELEMENTWISE_H
