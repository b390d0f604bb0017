//===- TopK.cpp - The k largest or smallest along one axis ----------------===//
//
// Of equal elements the lower index comes first, so that all ranks choose
// alike. NaN counts as larger than everything. Results are always sorted; k is
// the outputs' size along the axis.
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/StridedLoop.h"
#include "runtime/kernels/reduce/TopKOrder.h"

#include <algorithm>
#include <numeric>

namespace shardc::runtime::host {
namespace {

constexpr char kName[] = "TopK";

/// The first k of `order` become the indices of the result.
template <typename T>
void select(const T *x, int64_t stride, int64_t *order, int64_t count,
            int64_t k, bool largest) {
  using C = Compute<T>;
  std::iota(order, order + count, int64_t(0));
  std::partial_sort(order, order + k, order + count, [&](int64_t i, int64_t j) {
    return comesBefore(C(x[i * stride]), i, C(x[j * stride]), j, largest);
  });
}

Status run(const KernelCall &call) {
  int axis = 0;
  SHARDC_RETURN_IF_ERROR(checkTopK(call, kName, axis));
  const TensorView &x = call.inputs[0];
  const TensorView &values = call.outputs[0], &indices = call.outputs[1];
  const bool largest = call.intOr("largest", 1) != 0;
  const int64_t count = x.dims[axis], k = values.dims[axis];
  const int64_t stride = x.strides[axis];
  int64_t *order = reinterpret_cast<int64_t *>(call.scratch);
  const auto lines = nestOf(withoutDim(x, axis), withoutDim(values, axis),
                            withoutDim(indices, axis));
  return dispatch(NumericTypes(), x.element, kName, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    forEachIndex(lines, [&](const int64_t (&at)[3]) {
      const T *from = x.as<T>() + at[0];
      select(from, stride, order, count, k, largest);
      for (int64_t i = 0; i < k; ++i) {
        values.as<T>()[at[1] + i * values.strides[axis]] =
            from[order[i] * stride];
        indices.as<int64_t>()[at[2] + i * indices.strides[axis]] = order[i];
      }
    });
  });
}

int64_t scratchBytes(const KernelCall &call) {
  int axis = 0;
  if (!checkTopK(call, kName, axis).isOk())
    return 0; // run reports it
  return call.inputs[0].dims[axis] * static_cast<int64_t>(sizeof(int64_t));
}

const HostKernelRegistration registration(kName, {run, scratchBytes});

} // namespace
} // namespace shardc::runtime::host
