//===- Logical.cpp - Connectives on bools and on the bits of integers -----===//

#include "runtime/kernels/elementwise/BinaryFunctions.h"
#include "runtime/kernels/elementwise/UnaryFunctions.h"
#include "runtime/kernels/host/elementwise/Elementwise.h"

namespace shardc::runtime::host {
namespace {

template <typename Op> Status onBools(const KernelCall &call) {
  constexpr auto &name = Op::kName;
  SHARDC_RETURN_IF_ERROR(expectAlike(call, name, 2));
  const TensorView &a = call.inputs[0], &b = call.inputs[1];
  const TensorView &out = call.outputs[0];
  return dispatch(TypeList<Boolean>(), a.element, name, [&](auto) {
    mapBinary<Boolean, Boolean, Boolean>(out, a, b, Op());
  });
}

template <typename Op> Status onBits(const KernelCall &call) {
  constexpr auto &name = Op::kBitsName;
  SHARDC_RETURN_IF_ERROR(expectAlike(call, name, 2));
  const TensorView &a = call.inputs[0], &b = call.inputs[1];
  const TensorView &out = call.outputs[0];
  return dispatchBits(a.element, name, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    mapBinary<T, T, T>(out, a, b, Op());
  });
}

Status runNot(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(expectAlike(call, "Not", 1));
  const TensorView &x = call.inputs[0], &out = call.outputs[0];
  return dispatch(TypeList<Boolean>(), x.element, "Not",
                  [&](auto) { mapUnary<Boolean, Boolean>(out, x, Not()); });
}

Status runBitwiseNot(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(expectAlike(call, "BitwiseNot", 1));
  const TensorView &x = call.inputs[0], &out = call.outputs[0];
  return dispatchBits(x.element, "BitwiseNot", [&](auto tag) {
    using T = typename decltype(tag)::Type;
    mapUnary<T, T>(out, x, BitwiseNot());
  });
}

const HostKernelRegistration registrations[] = {
    {"Not", {runNot, nullptr}},
    {"And", {onBools<And>, nullptr}},
    {"Or", {onBools<Or>, nullptr}},
    {"Xor", {onBools<Xor>, nullptr}},
    {"BitwiseNot", {runBitwiseNot, nullptr}},
    {"BitwiseAnd", {onBits<And>, nullptr}},
    {"BitwiseOr", {onBits<Or>, nullptr}},
    {"BitwiseXor", {onBits<Xor>, nullptr}},
};

} // namespace
} // namespace shardc::runtime::host
