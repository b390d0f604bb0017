//===- TopKOrder.h - Which element comes first ----------------------------===//
//
// For TopK, ArgMax and ArgMin on every backend.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_KERNELS_REDUCE_TOPKORDER_H
#define SHARDC_RUNTIME_KERNELS_REDUCE_TOPKORDER_H

#include "runtime/kernels/Dispatch.h"

#include <algorithm>

namespace shardc::runtime::host {

/// NaN counts as larger than everything.
template <typename C> SHARDC_HOST_DEVICE bool isLess(C a, C b) {
  return a < b || (b != b && a == a);
}

/// Whether a, at index i, comes before b, at index j. Of equal elements the
/// lower index comes first.
template <typename C>
SHARDC_HOST_DEVICE bool comesBefore(C a, int64_t i, C b, int64_t j,
                                    bool largest) {
  if (largest ? isLess(b, a) : isLess(a, b))
    return true;
  if (largest ? isLess(a, b) : isLess(b, a))
    return false;
  return i < j;
}

inline Status checkTopK(const KernelCall &call, std::string_view kernel,
                        int &axis) {
  SHARDC_RETURN_IF_ERROR(expectOperands(call, kernel, 1, 2));
  const TensorView &x = call.inputs[0], &values = call.outputs[0];
  SHARDC_RETURN_IF_ERROR(readAxis(call, kernel, x.rank, axis));
  TensorView expected = x;
  if (values.rank == x.rank)
    expected.dims[axis] = std::min(values.dims[axis], x.dims[axis]);
  SHARDC_RETURN_IF_ERROR(expectLike(kernel, expected, values));
  SHARDC_RETURN_IF_ERROR(expectDims(kernel, expected, call.outputs[1]));
  return expectElement(kernel, artifact::ElementType_Int64, call.outputs[1]);
}

inline Status checkArgMax(const KernelCall &call, std::string_view kernel,
                          int &axis) {
  SHARDC_RETURN_IF_ERROR(expectOperands(call, kernel, 1));
  const TensorView &x = call.inputs[0], &out = call.outputs[0];
  SHARDC_RETURN_IF_ERROR(readAxis(call, kernel, x.rank, axis));
  TensorView expected = x;
  expected.dims[axis] = 1;
  SHARDC_RETURN_IF_ERROR(expectDims(kernel, expected, out));
  SHARDC_RETURN_IF_ERROR(
      expectElement(kernel, artifact::ElementType_Int64, out));
  return x.dims[axis] == 0 && out.numElements() > 0
             ? failure(kernel, "the dim to search is empty")
             : Status::ok();
}

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_REDUCE_TOPKORDER_H
