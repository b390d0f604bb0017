//===- ElementwiseUnary.cpp - Arithmetic of one operand -------------------===//

#include "runtime/backend/host/kernels/Dispatch.h"
#include "runtime/backend/host/kernels/Elementwise.h"
#include "runtime/backend/host/kernels/FloatMath.h"

#include <cmath>

namespace shardc::runtime::host {
namespace {

template <typename T> T negate(T x) {
  if constexpr (std::is_integral_v<T>)
    return T(0ull - static_cast<uint64_t>(x)); // the least value stays itself
  else
    return -x;
}

struct Neg {
  static constexpr char kName[] = "Neg";
  using Types = decltype(FloatTypes() + SignedTypes());
  template <typename T> T operator()(T x) const { return negate(x); }
};
struct Abs {
  static constexpr char kName[] = "Abs";
  using Types = NumericTypes;
  template <typename T> T operator()(T x) const {
    if constexpr (std::is_integral_v<T>)
      return x < T(0) ? negate(x) : x;
    else
      return std::abs(x);
  }
};
struct Sign {
  static constexpr char kName[] = "Sign";
  using Types = NumericTypes;
  template <typename T> T operator()(T x) const {
    return x > T(0) ? T(1) : x < T(0) ? negate(T(1)) : x; // x keeps NaN
  }
};
struct Sqrt {
  static constexpr char kName[] = "Sqrt";
  using Types = FloatTypes;
  template <typename T> T operator()(T x) const { return std::sqrt(x); }
};
struct Reciprocal {
  static constexpr char kName[] = "Reciprocal";
  using Types = FloatTypes;
  template <typename T> T operator()(T x) const { return T(1) / x; }
};
struct Exp {
  static constexpr char kName[] = "Exp";
  using Types = FloatTypes;
  template <typename T> [[gnu::always_inline]] T operator()(T x) const {
    return exponential(x);
  }
};
struct Log {
  static constexpr char kName[] = "Log";
  using Types = FloatTypes;
  template <typename T> T operator()(T x) const { return std::log(x); }
};
struct Erf {
  static constexpr char kName[] = "Erf";
  using Types = FloatTypes;
  template <typename T> [[gnu::always_inline]] T operator()(T x) const {
    return errorFunction(x);
  }
};

#define SHARDC_STD_FUNCTION(name, function)                                    \
  struct name {                                                                \
    static constexpr char kName[] = #name;                                     \
    using Types = FloatTypes;                                                  \
    template <typename T> T operator()(T x) const { return function(x); }      \
  };
SHARDC_STD_FUNCTION(Cos, std::cos)
SHARDC_STD_FUNCTION(Sin, std::sin)
SHARDC_STD_FUNCTION(Tan, std::tan)
SHARDC_STD_FUNCTION(Acos, std::acos)
SHARDC_STD_FUNCTION(Asin, std::asin)
SHARDC_STD_FUNCTION(Atan, std::atan)
SHARDC_STD_FUNCTION(Cosh, std::cosh)
SHARDC_STD_FUNCTION(Sinh, std::sinh)
SHARDC_STD_FUNCTION(Acosh, std::acosh)
SHARDC_STD_FUNCTION(Asinh, std::asinh)
SHARDC_STD_FUNCTION(Atanh, std::atanh)
SHARDC_STD_FUNCTION(Floor, std::floor)
SHARDC_STD_FUNCTION(Ceil, std::ceil)
/// Half to even: the default rounding mode.
SHARDC_STD_FUNCTION(Round, std::nearbyint)
#undef SHARDC_STD_FUNCTION

template <typename Op> Status run(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(expectOperands(call, Op::kName, 1));
  const TensorView &x = call.inputs[0], &out = call.outputs[0];
  SHARDC_RETURN_IF_ERROR(expectLike(Op::kName, out, x));
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
