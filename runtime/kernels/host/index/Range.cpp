//===- Range.cpp - start, start + delta, start + 2 delta, ... -------------===//
//
// start and delta come as integer attributes where the compiler knows them (a
// rank's part of a sharded Range starts later), else as scalar inputs.
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/Dispatch.h"

namespace shardc::runtime::host {
namespace {

constexpr char kName[] = "Range";

Status run(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(expectOperands(call, kName, 0));
  const TensorView &out = call.outputs[0];
  const bool hasInputs = hasInput(call, 0) && hasInput(call, 1);
  if (out.rank != 1)
    return failure(kName, "expected one dim, found " + dimsToString(out));
  if (hasInputs)
    for (int i = 0; i < 2; ++i)
      SHARDC_RETURN_IF_ERROR(expectElement(kName, out.element, call.inputs[i]));
  return dispatch(NumericTypes(), out.element, kName, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    using C = Compute<T>;
    const C start =
        hasInputs ? C(*call.inputs[0].as<T>()) : C(call.intOr("start", 0));
    const C delta =
        hasInputs ? C(*call.inputs[1].as<T>()) : C(call.intOr("delta", 1));
    T *o = out.as<T>();
    for (int64_t i = 0; i < out.dims[0]; ++i)
      o[i * out.strides[0]] = T(C(start + C(i) * delta));
  });
}

const HostKernelRegistration registration(kName, {run, nullptr});

} // namespace
} // namespace shardc::runtime::host
