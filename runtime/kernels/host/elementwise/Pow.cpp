//===- Pow.cpp - Base and exponent may differ in type ---------------------===//
//
// A scalar exponent of 2 or 3 multiplies, as in ONNX Runtime: exact and fast,
// and what exporters write for the variance of a norm. Floats are raised in
// their own type; an integer base by an integer exponent wraps around.
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/elementwise/PowFunctions.h"
#include "runtime/kernels/host/elementwise/Elementwise.h"

namespace shardc::runtime::host {
namespace {

constexpr char kName[] = "Pow";

bool isScalar(const TensorView &view) {
  for (int d = 0; d < view.rank; ++d)
    if (view.dims[d] != 1 && view.strides[d] != 0)
      return false;
  return true;
}

/// out = base^2 or base^3; false for any other exponent.
template <typename T>
bool multiply(const TensorView &out, const TensorView &base, double exponent) {
  using C = Compute<T>;
  if (exponent == 2)
    mapUnary<T, T>(out, base, [](C x) { return x * x; });
  else if (exponent == 3)
    mapUnary<T, T>(out, base, [](C x) { return x * x * x; });
  return exponent == 2 || exponent == 3;
}

template <typename T, typename E>
void raise(const TensorView &out, const TensorView &base,
           const TensorView &exponent) {
  using C = Compute<T>;
  if constexpr (std::is_floating_point_v<C>)
    if (isScalar(exponent) &&
        multiply<T>(out, base, double(Compute<E>(*exponent.as<E>()))))
      return;
  mapBinary<T, T, E>(out, base, exponent, power<C, Compute<E>>);
}

Status run(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(expectOperands(call, kName, 2));
  const TensorView &base = call.inputs[0], &exponent = call.inputs[1];
  const TensorView &out = call.outputs[0];
  SHARDC_RETURN_IF_ERROR(expectLike(kName, out, base));
  SHARDC_RETURN_IF_ERROR(expectDims(kName, out, exponent));
  if (out.numElements() == 0)
    return Status::ok(); // a broadcast exponent may have no element either
  return dispatch(PowBaseTypes(), base.element, kName, [&](auto baseTag) {
    using T = typename decltype(baseTag)::Type;
    return dispatch(PowExponentTypes(), exponent.element, kName, [&](auto tag) {
      raise<T, typename decltype(tag)::Type>(out, base, exponent);
    });
  });
}

const HostKernelRegistration registration(kName, {run, nullptr});

} // namespace
} // namespace shardc::runtime::host
