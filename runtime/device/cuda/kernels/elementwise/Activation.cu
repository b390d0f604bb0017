//===- Activation.cu - Activation functions of one operand ----------------===//
#include "runtime/device/cuda/CudaKernels.h"
#include "runtime/device/cuda/kernels/elementwise/ElementwiseKernels.h"
#include "runtime/kernels/elementwise/ActivationFunctions.h"

namespace shardc::runtime::cuda {
namespace {

template <typename Op> Status run(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(host::expectAlike(call, Op::kName, 1));
  const TensorView &out = call.outputs[0];
  return host::dispatch(
      host::ActivationTypes<Op>(), out.element, Op::kName, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        return launchUnary<T, T>(call, out, call.inputs[0], Op(call));
      });
}

Status runGelu(const KernelCall &call) {
  const KernelAttribute *approximate = call.find("approximate");
  return approximate && approximate->text == "tanh"
             ? run<host::GeluByTanh>(call)
             : run<host::GeluByErf>(call);
}
const CudaKernelRegistration gelu(host::GeluByErf::kName, {runGelu, nullptr});

template <typename... Ops> struct Registrations {
  CudaKernelRegistration entries[sizeof...(Ops)] = {
      CudaKernelRegistration(Ops::kName, {run<Ops>, nullptr})...};
};
const Registrations<host::Tanh, host::Sigmoid, host::Relu, host::Softplus,
                    host::Softsign, host::LeakyRelu, host::Elu, host::Selu,
                    host::HardSigmoid, host::HardSwish, host::Swish, host::Mish>
    registrations;

} // namespace
} // namespace shardc::runtime::cuda
