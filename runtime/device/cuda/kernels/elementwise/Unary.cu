//===- Unary.cu - Arithmetic of one operand -------------------------------===//
#include "runtime/device/cuda/CudaKernels.h"
#include "runtime/device/cuda/kernels/elementwise/ElementwiseKernels.h"
#include "runtime/kernels/elementwise/UnaryFunctions.h"

namespace shardc::runtime::cuda {
namespace {

template <typename Op> Status run(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(host::expectAlike(call, Op::kName, 1));
  const TensorView &out = call.outputs[0];
  return host::dispatch(
      typename Op::Types(), out.element, Op::kName, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        return launchUnary<T, T>(call, out, call.inputs[0], Op());
      });
}

template <typename... Ops> struct Registrations {
  CudaKernelRegistration entries[sizeof...(Ops)] = {
      CudaKernelRegistration(Ops::kName, {run<Ops>, nullptr})...};
};
const Registrations<
    host::Neg, host::Abs, host::Sign, host::Sqrt, host::Reciprocal, host::Exp,
    host::Log, host::Erf, host::Cos, host::Sin, host::Tan, host::Acos,
    host::Asin, host::Atan, host::Cosh, host::Sinh, host::Acosh, host::Asinh,
    host::Atanh, host::Floor, host::Ceil, host::Round>
    registrations;

} // namespace
} // namespace shardc::runtime::cuda
