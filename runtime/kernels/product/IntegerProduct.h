//===- IntegerProduct.h - Product of 8-bit integers -----------------------===//
#ifndef SHARDC_RUNTIME_KERNELS_PRODUCT_INTEGERPRODUCT_H
#define SHARDC_RUNTIME_KERNELS_PRODUCT_INTEGERPRODUCT_H

#include "runtime/kernels/Check.h"

namespace shardc::runtime::host {

/// `wanted` with these last two dims.
inline Status expectMatrix(std::string_view kernel, const TensorView &wanted,
                           const TensorView &view, int64_t rows,
                           int64_t columns) {
  TensorView expected = wanted;
  expected.dims[wanted.rank - 2] = rows;
  expected.dims[wanted.rank - 1] = columns;
  return expectDims(kernel, expected, view);
}

/// Operands as MatMulInteger.cpp says.
inline Status checkMatMulInteger(const KernelCall &call,
                                 std::string_view kernel) {
  SHARDC_RETURN_IF_ERROR(expectOperands(call, kernel, 2));
  const TensorView &a = call.inputs[0], &b = call.inputs[1];
  const TensorView &c = call.outputs[0];
  if (c.rank < 2 || a.rank != c.rank || b.rank != c.rank)
    return failure(kernel, "operands have dims " + dimsToString(a) + " and " +
                               dimsToString(b));
  const int64_t m = c.dims[c.rank - 2], n = c.dims[c.rank - 1];
  const int64_t k = a.dims[a.rank - 1];
  SHARDC_RETURN_IF_ERROR(expectElement(kernel, artifact::ElementType_Int32, c));
  SHARDC_RETURN_IF_ERROR(expectMatrix(kernel, c, a, m, k));
  SHARDC_RETURN_IF_ERROR(expectMatrix(kernel, c, b, k, n));
  if (hasInput(call, 2)) {
    SHARDC_RETURN_IF_ERROR(expectElement(kernel, a.element, call.inputs[2]));
    SHARDC_RETURN_IF_ERROR(expectMatrix(kernel, c, call.inputs[2], m, 1));
  }
  if (hasInput(call, 3)) {
    SHARDC_RETURN_IF_ERROR(expectElement(kernel, b.element, call.inputs[3]));
    SHARDC_RETURN_IF_ERROR(expectMatrix(kernel, c, call.inputs[3], 1, n));
  }
  return Status::ok();
}

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_PRODUCT_INTEGERPRODUCT_H
