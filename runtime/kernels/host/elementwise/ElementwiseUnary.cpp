//===- ElementwiseUnary.cpp - Arithmetic of one operand -------------------===//

#include "runtime/kernels/elementwise/UnaryFunctions.h"
#include "runtime/kernels/host/elementwise/Elementwise.h"

namespace shardc::runtime::host {
namespace {

template <typename Op> Status run(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(expectAlike(call, Op::kName, 1));
  const TensorView &x = call.inputs[0], &out = call.outputs[0];
  return dispatch(typename Op::Types(), x.element, Op::kName, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    mapUnary<T, T>(out, x, Op());
  });
}

template <typename... Ops> struct Registrations {
  HostKernelRegistration entries[sizeof...(Ops)] = {
      HostKernelRegistration(Ops::kName, {run<Ops>, nullptr})...};
};
const Registrations<Neg, Abs, Sign, Sqrt, Reciprocal, Exp, Log, Erf, Cos, Sin,
                    Tan, Acos, Asin, Atan, Cosh, Sinh, Acosh, Asinh, Atanh,
                    Floor, Ceil, Round>
    registrations;

} // namespace
} // namespace shardc::runtime::host
