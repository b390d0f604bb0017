//===- Functions.h - What ops of several others are written in ------------===//
//
// Of tensors, without an op: a product, a softmax, activations of one number.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_DIALECTS_ONNX_EVALUATE_FUNCTIONS_H
#define SHARDC_DIALECTS_ONNX_EVALUATE_FUNCTIONS_H

#include "dialects/onnx/evaluate/Tensor.h"

namespace shardc::onnx::evaluate {

/// ... m k, ... k n -> ... m n; of no type if the sizes do not fit. Elements
/// are not rounded. `overflows` becomes true where one of finite factors does
/// not fit the type of `a`.
Tensor product(const Tensor &a, const Tensor &b, bool &overflows);

/// Over `axis`: e^x / sum e^x; of log, x - log sum e^x.
Tensor softmax(const Tensor &x, int64_t axis, bool isLog = false);

double sigmoid(double x);
double swish(double x, double alpha);
double gelu(double x);
double geluByTanh(double x);

/// The type that kernels compute in for operands of that type.
mlir::Type computedIn(mlir::Type element);

} // namespace shardc::onnx::evaluate

#endif // SHARDC_DIALECTS_ONNX_EVALUATE_FUNCTIONS_H
