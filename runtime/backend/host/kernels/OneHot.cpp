//===- OneHot.cpp - Indices to rows with one value on ---------------------===//
//
// values is [off, on]; the depth is the output's size along the axis. Negative
// indices count from the end; one outside of the depth leaves its row off.
//
//===----------------------------------------------------------------------===//

#include "runtime/backend/host/kernels/Dispatch.h"
#include "runtime/backend/host/kernels/StridedCopy.h"

namespace shardc::runtime::host {
namespace {

constexpr char kName[] = "OneHot";

Status check(const KernelCall &call, int &axis) {
  SHARDC_RETURN_IF_ERROR(expectOperands(call, kName, 2));
  const TensorView &indices = call.inputs[0], &values = call.inputs[1];
  const TensorView &out = call.outputs[0];
  SHARDC_RETURN_IF_ERROR(readAxis(call, kName, out.rank, axis));
  SHARDC_RETURN_IF_ERROR(expectDims(kName, withoutDim(out, axis), indices));
  if (values.rank != 1 || values.dims[0] != 2)
    return failure(kName, "expected two values, found " + dimsToString(values));
  return expectElement(kName, out.element, values);
}

Status run(const KernelCall &call) {
  int axis = 0;
  SHARDC_RETURN_IF_ERROR(check(call, axis));
  const TensorView &indices = call.inputs[0], &values = call.inputs[1];
  const TensorView &out = call.outputs[0];
  const StridedCopy fill(out);
  fill(out.data, values.data);
  const int64_t depth = out.dims[axis];
  const auto rows = nestOf(indices, withoutDim(out, axis));
  return dispatchSize(out.element, kName, [&](auto valueTag) {
    using V = typename decltype(valueTag)::Type;
    const V on = values.as<V>()[values.strides[0]];
    return dispatch(NumericTypes(), indices.element, kName, [&](auto tag) {
      using T = typename decltype(tag)::Type;
      forEachIndex(rows, [&](const int64_t (&at)[2]) {
        const int64_t index =
            static_cast<int64_t>(Compute<T>(indices.as<T>()[at[0]]));
        const int64_t wrapped = index < 0 ? index + depth : index;
        if (wrapped >= 0 && wrapped < depth)
          out.as<V>()[at[1] + wrapped * out.strides[axis]] = on;
      });
    });
  });
}

const HostKernelRegistration registration(kName, {run, nullptr});

} // namespace
} // namespace shardc::runtime::host
