//===- Logical.cpp - Connectives on bools and on the bits of integers -----===//

#include "runtime/backend/host/kernels/Dispatch.h"
#include "runtime/backend/host/kernels/Elementwise.h"

namespace shardc::runtime::host {
namespace {

struct And {
  template <typename T> T operator()(T a, T b) const { return T(a & b); }
};
struct Or {
  template <typename T> T operator()(T a, T b) const { return T(a | b); }
};
struct Xor {
  template <typename T> T operator()(T a, T b) const { return T(a ^ b); }
};

/// Bits do not care about signs: one instance per size.
template <typename Body>
Status dispatchBits(artifact::ElementType element, const char *kernel,
                    Body body) {
  SHARDC_RETURN_IF_ERROR(
      dispatch(IntegerTypes(), element, kernel, [](auto) {}));
  return dispatchSize(element, kernel, body);
}

template <typename Op>
Status onBools(const KernelCall &call, const char *name) {
  SHARDC_RETURN_IF_ERROR(expectOperands(call, name, 2));
  const TensorView &a = call.inputs[0], &b = call.inputs[1];
  const TensorView &out = call.outputs[0];
  SHARDC_RETURN_IF_ERROR(expectLike(name, out, a));
  SHARDC_RETURN_IF_ERROR(expectLike(name, out, b));
  return dispatch(TypeList<Boolean>(), a.element, name, [&](auto) {
    mapBinary<Boolean, Boolean, Boolean>(out, a, b, Op());
  });
}

template <typename Op> Status onBits(const KernelCall &call, const char *name) {
  SHARDC_RETURN_IF_ERROR(expectOperands(call, name, 2));
  const TensorView &a = call.inputs[0], &b = call.inputs[1];
  const TensorView &out = call.outputs[0];
  SHARDC_RETURN_IF_ERROR(expectLike(name, out, a));
  SHARDC_RETURN_IF_ERROR(expectLike(name, out, b));
  return dispatchBits(a.element, name, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    mapBinary<T, T, T>(out, a, b, Op());
  });
}

Status runNot(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(expectOperands(call, "Not", 1));
  const TensorView &x = call.inputs[0], &out = call.outputs[0];
  SHARDC_RETURN_IF_ERROR(expectLike("Not", out, x));
  return dispatch(TypeList<Boolean>(), x.element, "Not", [&](auto) {
    mapUnary<Boolean, Boolean>(out, x, [](bool value) { return !value; });
  });
}

Status runBitwiseNot(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(expectOperands(call, "BitwiseNot", 1));
  const TensorView &x = call.inputs[0], &out = call.outputs[0];
  SHARDC_RETURN_IF_ERROR(expectLike("BitwiseNot", out, x));
  return dispatchBits(x.element, "BitwiseNot", [&](auto tag) {
    using T = typename decltype(tag)::Type;
    mapUnary<T, T>(out, x, [](T value) { return T(~value); });
  });
}

Status runAnd(const KernelCall &call) { return onBools<And>(call, "And"); }
Status runOr(const KernelCall &call) { return onBools<Or>(call, "Or"); }
Status runXor(const KernelCall &call) { return onBools<Xor>(call, "Xor"); }
Status runBitwiseAnd(const KernelCall &call) {
  return onBits<And>(call, "BitwiseAnd");
}
Status runBitwiseOr(const KernelCall &call) {
  return onBits<Or>(call, "BitwiseOr");
}
Status runBitwiseXor(const KernelCall &call) {
  return onBits<Xor>(call, "BitwiseXor");
}

const HostKernelRegistration registrations[] = {
    {"Not", {runNot, nullptr}},
    {"And", {runAnd, nullptr}},
    {"Or", {runOr, nullptr}},
    {"Xor", {runXor, nullptr}},
    {"BitwiseNot", {runBitwiseNot, nullptr}},
    {"BitwiseAnd", {runBitwiseAnd, nullptr}},
    {"BitwiseOr", {runBitwiseOr, nullptr}},
    {"BitwiseXor", {runBitwiseXor, nullptr}},
};

} // namespace
} // namespace shardc::runtime::host
