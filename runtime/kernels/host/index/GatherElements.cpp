//===- GatherElements.cpp - Elements picked along one axis ----------------===//

#include "runtime/kernels/index/IndexChecks.h"
#include "runtime/kernels/index/IndexReader.h"

namespace shardc::runtime::host {
namespace {

constexpr char kName[] = "GatherElements";

Status run(const KernelCall &call) {
  int axis = 0;
  SHARDC_RETURN_IF_ERROR(checkGatherElements(call, kName, axis));
  const TensorView &data = call.inputs[0], &indices = call.inputs[1];
  SHARDC_RETURN_IF_ERROR(expectInRange(kName, indices, data.dims[axis]));
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
