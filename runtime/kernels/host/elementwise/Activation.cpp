//===- Activation.cpp - Activation functions of one operand ---------------===//

#include "runtime/kernels/elementwise/ActivationFunctions.h"
#include "runtime/kernels/host/elementwise/Elementwise.h"

namespace shardc::runtime::host {
namespace {

template <typename Op> Status run(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(expectAlike(call, Op::kName, 1));
  const TensorView &x = call.inputs[0], &out = call.outputs[0];
  return dispatch(ActivationTypes<Op>(), x.element, Op::kName, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    mapUnary<T, T>(out, x, Op(call));
  });
}

Status runGelu(const KernelCall &call) {
  const KernelAttribute *approximate = call.find("approximate");
  return approximate && approximate->text == "tanh" ? run<GeluByTanh>(call)
                                                    : run<GeluByErf>(call);
}
const HostKernelRegistration gelu(GeluByErf::kName, {runGelu, nullptr});

template <typename... Ops> struct Registrations {
  HostKernelRegistration entries[sizeof...(Ops)] = {
      HostKernelRegistration(Ops::kName, {run<Ops>, nullptr})...};
};
const Registrations<Tanh, Sigmoid, Relu, Softplus, Softsign, LeakyRelu, Elu,
                    Selu, HardSigmoid, HardSwish, Swish, Mish>
    registrations;

} // namespace
} // namespace shardc::runtime::host
