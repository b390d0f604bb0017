//===- UnaryFunctions.h - Functions of one element ------------------------===//
//
// What elementwise kernels of every backend apply; see ActivationFunctions.h
// for the rest.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_KERNELS_ELEMENTWISE_UNARYFUNCTIONS_H
#define SHARDC_RUNTIME_KERNELS_ELEMENTWISE_UNARYFUNCTIONS_H

#include "runtime/kernels/Dispatch.h"
#include "runtime/kernels/elementwise/FloatMath.h"

#include <cmath>
#include <limits>

namespace shardc::runtime::host {

template <typename T> SHARDC_HOST_DEVICE T negate(T x) {
  if constexpr (std::is_integral_v<T>)
    return T(0ull - static_cast<uint64_t>(x)); // the least value stays itself
  else
    return -x;
}

struct Neg {
  static constexpr char kName[] = "Neg";
  using Types = decltype(FloatTypes() + SignedTypes());
  template <typename T> SHARDC_HOST_DEVICE T operator()(T x) const {
    return negate(x);
  }
};
struct Abs {
  static constexpr char kName[] = "Abs";
  using Types = NumericTypes;
  template <typename T> SHARDC_HOST_DEVICE T operator()(T x) const {
    if constexpr (std::is_unsigned_v<T>)
      return x;
    else if constexpr (std::is_integral_v<T>)
      return x < T(0) ? negate(x) : x;
    else
      return std::abs(x);
  }
};
struct Sign {
  static constexpr char kName[] = "Sign";
  using Types = NumericTypes;
  template <typename T> SHARDC_HOST_DEVICE T operator()(T x) const {
    if constexpr (std::is_unsigned_v<T>)
      return T(x > T(0));
    else
      return x > T(0) ? T(1) : x < T(0) ? negate(T(1)) : x; // x keeps NaN
  }
};
struct Sqrt {
  static constexpr char kName[] = "Sqrt";
  using Types = FloatTypes;
  template <typename T> SHARDC_HOST_DEVICE T operator()(T x) const {
    return std::sqrt(x);
  }
};
struct Reciprocal {
  static constexpr char kName[] = "Reciprocal";
  using Types = FloatTypes;
  template <typename T> SHARDC_HOST_DEVICE T operator()(T x) const {
    return T(1) / x;
  }
};
struct Exp {
  static constexpr char kName[] = "Exp";
  using Types = FloatTypes;
  template <typename T>
  [[gnu::always_inline]] SHARDC_HOST_DEVICE T operator()(T x) const {
    return exponential(x);
  }
};
struct Log {
  static constexpr char kName[] = "Log";
  using Types = FloatTypes;
  template <typename T> SHARDC_HOST_DEVICE T operator()(T x) const {
    return std::log(x);
  }
};
struct Erf {
  static constexpr char kName[] = "Erf";
  using Types = FloatTypes;
  template <typename T>
  [[gnu::always_inline]] SHARDC_HOST_DEVICE T operator()(T x) const {
    return errorFunction(x);
  }
};

#define SHARDC_STD_FUNCTION(name, function)                                    \
  struct name {                                                                \
    static constexpr char kName[] = #name;                                     \
    using Types = FloatTypes;                                                  \
    template <typename T> SHARDC_HOST_DEVICE T operator()(T x) const {         \
      return function(x);                                                      \
    }                                                                          \
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

struct IsNaN {
  static constexpr char kName[] = "IsNaN";
  explicit IsNaN(const KernelCall &) {}
  template <typename T> SHARDC_HOST_DEVICE bool operator()(T x) const {
    return x != x;
  }
};
struct IsInf {
  static constexpr char kName[] = "IsInf";
  bool positive, negative;
  explicit IsInf(const KernelCall &call)
      : positive(call.intOr("detect_positive", 1) != 0),
        negative(call.intOr("detect_negative", 1) != 0) {}
  template <typename T> SHARDC_HOST_DEVICE bool operator()(T x) const {
    return std::isinf(x) && (x > 0 ? positive : negative);
  }
};

/// What no number of that type is below; above.
template <typename C> constexpr C lowestOf() {
  using Limits = std::numeric_limits<C>;
  return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
}
template <typename C> constexpr C highestOf() {
  using Limits = std::numeric_limits<C>;
  return Limits::has_infinity ? Limits::infinity() : Limits::max();
}

/// Where the bounds cross, the upper one.
template <typename C> struct Clip {
  C low, high;
  SHARDC_HOST_DEVICE C operator()(C value) const {
    const C raised = value < low ? low : value;
    return raised > high ? high : raised;
  }
};

struct Not {
  SHARDC_HOST_DEVICE bool operator()(bool x) const { return !x; }
};
struct BitwiseNot {
  template <typename T> SHARDC_HOST_DEVICE T operator()(T x) const {
    return T(~x);
  }
};

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_ELEMENTWISE_UNARYFUNCTIONS_H
