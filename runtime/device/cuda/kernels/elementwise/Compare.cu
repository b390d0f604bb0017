//===- Compare.cu - Comparisons, and connectives on bools and bits --------===//
#include "runtime/device/cuda/CudaKernels.h"
#include "runtime/device/cuda/kernels/elementwise/ElementwiseKernels.h"
#include "runtime/kernels/elementwise/BinaryFunctions.h"
#include "runtime/kernels/elementwise/UnaryFunctions.h"

namespace shardc::runtime::cuda {
namespace {

using host::Boolean;

template <typename Op> Status compare(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(host::expectBools(call, Op::kName, 2));
  const TensorView &a = call.inputs[0];
  return host::dispatch(typename Op::Types(), a.element, Op::kName,
                        [&](auto tag) {
                          using T = typename decltype(tag)::Type;
                          return launchBinary<Boolean, T, T>(
                              call, call.outputs[0], a, call.inputs[1], Op());
                        });
}

template <typename Op> Status classify(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(host::expectBools(call, Op::kName, 1));
  const TensorView &x = call.inputs[0];
  return host::dispatch(
      host::FloatTypes(), x.element, Op::kName, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        return launchUnary<Boolean, T>(call, call.outputs[0], x, Op(call));
      });
}

template <typename Op> Status onBools(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(host::expectAlike(call, Op::kName, 2));
  const TensorView &out = call.outputs[0];
  return host::dispatch(host::TypeList<Boolean>(), out.element, Op::kName,
                        [&](auto) {
                          return launchBinary<Boolean, Boolean, Boolean>(
                              call, out, call.inputs[0], call.inputs[1], Op());
                        });
}

template <typename Op> Status onBits(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(host::expectAlike(call, Op::kBitsName, 2));
  const TensorView &out = call.outputs[0];
  return host::dispatchBits(out.element, Op::kBitsName, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return launchBinary<T, T, T>(call, out, call.inputs[0], call.inputs[1],
                                 Op());
  });
}

Status runNot(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(host::expectAlike(call, "Not", 1));
  const TensorView &out = call.outputs[0];
  return host::dispatch(host::TypeList<Boolean>(), out.element, "Not",
                        [&](auto) {
                          return launchUnary<Boolean, Boolean>(
                              call, out, call.inputs[0], host::Not());
                        });
}

Status runBitwiseNot(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(host::expectAlike(call, "BitwiseNot", 1));
  const TensorView &out = call.outputs[0];
  return host::dispatchBits(out.element, "BitwiseNot", [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return launchUnary<T, T>(call, out, call.inputs[0], host::BitwiseNot());
  });
}

template <typename... Ops> struct Comparisons {
  CudaKernelRegistration entries[sizeof...(Ops)] = {
      CudaKernelRegistration(Ops::kName, {compare<Ops>, nullptr})...};
};
const Comparisons<host::Equal, host::Less, host::LessOrEqual, host::Greater,
                  host::GreaterOrEqual>
    comparisons;

const CudaKernelRegistration registrations[] = {
    {"IsNaN", {classify<host::IsNaN>, nullptr}},
    {"IsInf", {classify<host::IsInf>, nullptr}},
    {"Not", {runNot, nullptr}},
    {"And", {onBools<host::And>, nullptr}},
    {"Or", {onBools<host::Or>, nullptr}},
    {"Xor", {onBools<host::Xor>, nullptr}},
    {"BitwiseNot", {runBitwiseNot, nullptr}},
    {"BitwiseAnd", {onBits<host::And>, nullptr}},
    {"BitwiseOr", {onBits<host::Or>, nullptr}},
    {"BitwiseXor", {onBits<host::Xor>, nullptr}},
};

} // namespace
} // namespace shardc::runtime::cuda
