//===- MatMulOperands.h - What a matrix product checks --------------------===//
#ifndef SHARDC_RUNTIME_KERNELS_PRODUCT_MATMULOPERANDS_H
#define SHARDC_RUNTIME_KERNELS_PRODUCT_MATMULOPERANDS_H

#include "runtime/kernels/Check.h"

namespace shardc::runtime::host {

/// A [..., m, k], B [..., k, n] and C [..., m, n] with equal batch dims.
inline Status expectMatMul(const KernelCall &call, std::string_view kernel) {
  SHARDC_RETURN_IF_ERROR(expectOperands(call, kernel, 2));
  const TensorView &a = call.inputs[0], &b = call.inputs[1];
  if (a.rank < 2 || a.rank != b.rank)
    return failure(kernel, "operands have dims " + dimsToString(a) + " and " +
                               dimsToString(b));
  const int row = a.rank - 2, column = a.rank - 1;
  TensorView expectedB = b, expectedC = a;
  for (int d = 0; d < row; ++d)
    expectedB.dims[d] = a.dims[d];
  expectedB.dims[row] = a.dims[column];
  expectedC.dims[column] = b.dims[column];
  SHARDC_RETURN_IF_ERROR(expectDims(kernel, expectedB, b));
  SHARDC_RETURN_IF_ERROR(expectElement(kernel, a.element, b));
  return expectLike(kernel, expectedC, call.outputs[0]);
}

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_PRODUCT_MATMULOPERANDS_H
