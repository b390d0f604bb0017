//===- Arithmetic.cu - Arithmetic and choices of two operands -------------===//
#include "runtime/device/cuda/CudaKernels.h"
#include "runtime/device/cuda/kernels/elementwise/ElementwiseKernels.h"
#include "runtime/kernels/elementwise/BinaryFunctions.h"

namespace shardc::runtime::cuda {
namespace {

template <typename Op> Op functionOf(const KernelCall &call) {
  if constexpr (std::is_same_v<Op, host::Mod>)
    return {nullptr, call.intOr("fmod", 0) != 0};
  else
    return {};
}

template <typename Op> Status run(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(host::expectAlike(call, Op::kName, 2));
  const TensorView &out = call.outputs[0];
  return host::dispatch(
      typename Op::Types(), out.element, Op::kName, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        return launchBinary<T, T, T>(call, out, call.inputs[0], call.inputs[1],
                                     functionOf<Op>(call));
      });
}

template <typename... Ops> struct Registrations {
  CudaKernelRegistration entries[sizeof...(Ops)] = {
      CudaKernelRegistration(Ops::kName, {run<Ops>, nullptr})...};
};
const Registrations<host::Add, host::Sub, host::Mul, host::Div, host::Mod,
                    host::Min, host::Max, host::PRelu>
    registrations;

} // namespace
} // namespace shardc::runtime::cuda
