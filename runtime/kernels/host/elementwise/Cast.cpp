//===- Cast.cpp - Conversion between element types ------------------------===//
//
// The output's element type says what to convert to. Floats truncate towards
// zero, anything but 0 is true.
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/Dispatch.h"
#include "runtime/kernels/elementwise/CastFloat8.h"
#include "runtime/kernels/elementwise/FloatToInteger.h"
#include "runtime/kernels/host/elementwise/Elementwise.h"
#include "runtime/kernels/layout/StridedCopy.h"

namespace shardc::runtime::host {
namespace {

constexpr char kName[] = "Cast";

template <typename To, typename From> Compute<To> convert(From x) {
  using C = Compute<To>;
  if constexpr (std::is_same_v<C, bool>)
    return x != From(0);
  else if constexpr (std::is_integral_v<C> && std::is_floating_point_v<From>)
    return truncate<C>(x);
  else
    return C(x);
}

Status run(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(expectOperands(call, kName, 1));
  const TensorView &x = call.inputs[0], &out = call.outputs[0];
  SHARDC_RETURN_IF_ERROR(expectDims(kName, out, x));
  if (x.element == out.element) {
    StridedCopy(out, x)(out.data, x.data);
    return Status::ok();
  }
  if (isFloat8(x.element) || isFloat8(out.element))
    return castFloat8(call, kName);
  return dispatch(AllTypes(), x.element, kName, [&](auto from) {
    using From = typename decltype(from)::Type;
    return dispatch(AllTypes(), out.element, kName, [&](auto to) {
      using To = typename decltype(to)::Type;
      // Through a pointer it would be called for each element.
      mapUnary<To, From>(
          out, x, [](Compute<From> value) { return convert<To>(value); });
    });
  });
}

const HostKernelRegistration registration(kName, {run, nullptr});

} // namespace
} // namespace shardc::runtime::host
