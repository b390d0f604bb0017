//===- ElementwiseBinary.cpp - Arithmetic of two operands -----------------===//
//
// Integers wrap around as ONNX Runtime's do; integer division by zero is an
// error, found without a branch out of the loop.
//
//===----------------------------------------------------------------------===//

#include "runtime/backend/host/kernels/Dispatch.h"
#include "runtime/backend/host/kernels/Elementwise.h"

#include <cmath>

namespace shardc::runtime::host {
namespace {

/// Unsigned, and no narrower than int: its arithmetic never overflows.
template <typename T>
using Wrapping = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

struct Add {
  static constexpr char kName[] = "Add";
  template <typename T> T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>)
      return T(Wrapping<T>(a) + Wrapping<T>(b));
    else
      return a + b;
  }
};
struct Sub {
  static constexpr char kName[] = "Sub";
  template <typename T> T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>)
      return T(Wrapping<T>(a) - Wrapping<T>(b));
    else
      return a - b;
  }
};
struct Mul {
  static constexpr char kName[] = "Mul";
  template <typename T> T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>)
      return T(Wrapping<T>(a) * Wrapping<T>(b));
    else
      return a * b;
  }
};
/// Integers truncate towards zero.
struct Div {
  static constexpr char kName[] = "Div";
  bool *byZero;
  template <typename T> T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      *byZero |= b == 0;
      if (std::is_signed_v<T> && b == T(-1))
        return T(0ull - static_cast<uint64_t>(a)); // the quotient may overflow
      return b == 0 ? T(0) : T(a / b);
    } else {
      return a / b;
    }
  }
};
/// fmod: the sign of the dividend, as C has it; otherwise of the divisor.
struct Mod {
  static constexpr char kName[] = "Mod";
  bool *byZero;
  bool fmod;
  template <typename T> T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      *byZero |= b == 0;
      if (b == 0 || (std::is_signed_v<T> && b == T(-1)))
        return T(0);
      const T rest = T(a % b);
      return !fmod && rest != 0 && (rest < 0) != (b < 0) ? T(rest + b) : rest;
    } else {
      const T rest = std::fmod(a, b);
      return !fmod && rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
    }
  }
};

template <typename Op>
Status apply(const KernelCall &call, const Op &op, const bool *byZero) {
  SHARDC_RETURN_IF_ERROR(expectOperands(call, Op::kName, 2));
  const TensorView &a = call.inputs[0], &b = call.inputs[1];
  const TensorView &out = call.outputs[0];
  SHARDC_RETURN_IF_ERROR(expectLike(Op::kName, out, a));
  SHARDC_RETURN_IF_ERROR(expectLike(Op::kName, out, b));
  SHARDC_RETURN_IF_ERROR(
      dispatch(NumericTypes(), a.element, Op::kName, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        mapBinary<T, T, T>(out, a, b, op);
      }));
  if (byZero && *byZero)
    return failure(Op::kName, "integer division by zero");
  return Status::ok();
}

Status runAdd(const KernelCall &call) { return apply(call, Add(), nullptr); }
Status runSub(const KernelCall &call) { return apply(call, Sub(), nullptr); }
Status runMul(const KernelCall &call) { return apply(call, Mul(), nullptr); }
Status runDiv(const KernelCall &call) {
  bool byZero = false;
  return apply(call, Div{&byZero}, &byZero);
}
Status runMod(const KernelCall &call) {
  bool byZero = false;
  return apply(call, Mod{&byZero, call.intOr("fmod", 0) != 0}, &byZero);
}

const HostKernelRegistration registrations[] = {
    {Add::kName, {runAdd, nullptr}}, {Sub::kName, {runSub, nullptr}},
    {Mul::kName, {runMul, nullptr}}, {Div::kName, {runDiv, nullptr}},
    {Mod::kName, {runMod, nullptr}},
};

} // namespace
} // namespace shardc::runtime::host
