//===- GatherElements.cpp - Elements picked along one axis ----------------===//

#include "runtime/backend/host/kernels/IndexReader.h"

namespace shardc::runtime::host {
namespace {

constexpr char kName[] = "GatherElements";

/// Index dims other than the axis may be smaller than the data's.
Status check(const KernelCall &call, int &axis) {
  SHARDC_RETURN_IF_ERROR(expectOperands(call, kName, 2));
  const TensorView &data = call.inputs[0], &indices = call.inputs[1];
  const TensorView &out = call.outputs[0];
  SHARDC_RETURN_IF_ERROR(readAxis(call, kName, data.rank, axis));
  SHARDC_RETURN_IF_ERROR(expectIndices(kName, indices));
  SHARDC_RETURN_IF_ERROR(expectDims(kName, indices, out));
  SHARDC_RETURN_IF_ERROR(expectElement(kName, data.element, out));
  bool fits = data.rank == indices.rank;
  for (int d = 0; d < data.rank && fits; ++d)
    fits = d == axis || indices.dims[d] <= data.dims[d];
  if (!fits)
    return failure(kName, "indices " + dimsToString(indices) +
                              " do not fit data " + dimsToString(data));
  return expectInRange(kName, indices, data.dims[axis]);
}

Status run(const KernelCall &call) {
  int axis = 0;
  SHARDC_RETURN_IF_ERROR(check(call, axis));
  const TensorView &data = call.inputs[0], &indices = call.inputs[1];
  const TensorView &out = call.outputs[0];
  TensorView source = data; // walked with the indices, the axis aside
  source.strides[axis] = 0;
  const auto nest = nestOf(out, indices, source);
  const IndexReader index(indices);
  const int64_t size = data.dims[axis], step = data.strides[axis];
  return dispatchSize(data.element, kName, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    forEachIndex(nest, [&](const int64_t (&at)[3]) {
      out.as<T>()[at[0]] =
          data.as<T>()[at[2] + index.wrapped(at[1], size) * step];
    });
  });
}

const HostKernelRegistration registration(kName, {run, nullptr});

} // namespace
} // namespace shardc::runtime::host
