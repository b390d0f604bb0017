//===- QuantizedOperands.h - Products of bytes that stand for numbers -----===//
//
// Operands of the kernel MatMulQuantized: A [..., m, k] and B [..., k, n] of
// int8 or uint8, their scales, and maybe their zero points, with the dims of
// what they belong to:
//
//   C = (A - zero of A) * scale of A  times  (B - zero of B) * scale of B
//
// Nothing along k has a scale or zero point of its own, so that sums are of
// integers, exact in 32 bits, and are scaled once. C differs from the exact
// product by the rounding of that alone, of each part where k is more than
// kMostDepth. Scales are finite.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_KERNELS_PRODUCT_QUANTIZEDOPERANDS_H
#define SHARDC_RUNTIME_KERNELS_PRODUCT_QUANTIZEDOPERANDS_H

#include "runtime/kernels/Check.h"

namespace shardc::runtime::host {

struct QuantizedOperands {
  /// So many products of two differences of bytes fit 32 bits.
  static constexpr int64_t kMostDepth = 33025;

  TensorView scaleA, scaleB; ///< [..., m, 1] and [..., 1, n]

  Status read(const KernelCall &call, std::string_view kernel);

  /// What MatMulInteger has to do; it reads this while it does.
  KernelCall integers(const KernelCall &call) const {
    KernelCall product = call;
    product.inputs = inputs;
    product.numInputs = 4;
    product.outputs = &sums;
    return product;
  }

private:
  TensorView inputs[4];
  TensorView sums;
};

/// That operands are there, and A and B have as many dims as C.
inline Status checkQuantized(const KernelCall &call, std::string_view kernel) {
  SHARDC_RETURN_IF_ERROR(expectOperands(call, kernel, 4));
  const TensorView &a = call.inputs[0], &b = call.inputs[1];
  const TensorView &c = call.outputs[0];
  if (a.rank < 2 || b.rank != a.rank || c.rank != a.rank || call.numInputs > 6)
    return failure(kernel, "operands have dims " + dimsToString(a) + " and " +
                               dimsToString(b));
  SHARDC_RETURN_IF_ERROR(
      expectElement(kernel, artifact::ElementType_Float32, c));
  TensorView expectedA = c, expectedB = c;
  expectedA.dims[c.rank - 1] = expectedB.dims[c.rank - 2] = a.dims[c.rank - 1];
  SHARDC_RETURN_IF_ERROR(expectDims(kernel, expectedA, a));
  SHARDC_RETURN_IF_ERROR(expectDims(kernel, expectedB, b));
  for (int i = 2; i < call.numInputs; ++i)
    if (hasInput(call, i))
      SHARDC_RETURN_IF_ERROR(
          expectDims(kernel, i % 2 == 0 ? a : b, call.inputs[i]));
  return Status::ok();
}

/// Precondition: checkQuantized, and a sum of kMostDepth at most.
inline Status QuantizedOperands::read(const KernelCall &call,
                                      std::string_view kernel) {
  const TensorView &a = call.inputs[0], &b = call.inputs[1];
  sums = call.outputs[0];
  sums.element = artifact::ElementType_Int32;
  TensorView parameters[4];
  for (int i = 0; i < 4; ++i) {
    const TensorView &of = i % 2 == 0 ? a : b;
    const int summed = i % 2 == 0 ? a.rank - 1 : a.rank - 2;
    parameters[i] =
        hasInput(call, i + 2) ? call.inputs[i + 2] : TensorView{.rank = -1};
    if (parameters[i].isAbsent())
      continue;
    if (of.dims[summed] > 1 && parameters[i].strides[summed] != 0)
      return failure(kernel, "has scales along the dim that is summed");
    parameters[i].dims[summed] = 1;
  }
  scaleA = parameters[0];
  scaleB = parameters[1];
  for (const TensorView *scale : {&scaleA, &scaleB})
    SHARDC_RETURN_IF_ERROR(
        expectElement(kernel, artifact::ElementType_Float32, *scale));
  inputs[0] = a;
  inputs[1] = b;
  inputs[2] = parameters[2];
  inputs[3] = parameters[3];
  return Status::ok();
}

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_PRODUCT_QUANTIZEDOPERANDS_H
