//===- BinaryFunctions.h - Functions of two elements ----------------------===//
//
// What elementwise kernels of every backend apply. Integers wrap around as ONNX
// Runtime's do.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_KERNELS_ELEMENTWISE_BINARYFUNCTIONS_H
#define SHARDC_RUNTIME_KERNELS_ELEMENTWISE_BINARYFUNCTIONS_H

#include "runtime/kernels/Dispatch.h"

#include <cmath>

namespace shardc::runtime::host {

template <typename T> SHARDC_HOST_DEVICE constexpr bool isNegative(T x) {
  if constexpr (std::is_unsigned_v<T>)
    return false;
  else
    return x < T(0);
}

/// Unsigned, and no narrower than int: its arithmetic never overflows.
template <typename T>
using Wrapping = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

struct Add {
  static constexpr char kName[] = "Add";
  using Types = NumericTypes;
  template <typename T> SHARDC_HOST_DEVICE T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>)
      return T(Wrapping<T>(a) + Wrapping<T>(b));
    else
      return a + b;
  }
};
struct Sub {
  static constexpr char kName[] = "Sub";
  using Types = NumericTypes;
  template <typename T> SHARDC_HOST_DEVICE T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>)
      return T(Wrapping<T>(a) - Wrapping<T>(b));
    else
      return a - b;
  }
};
struct Mul {
  static constexpr char kName[] = "Mul";
  using Types = NumericTypes;
  template <typename T> SHARDC_HOST_DEVICE T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>)
      return T(Wrapping<T>(a) * Wrapping<T>(b));
    else
      return a * b;
  }
};
/// Integers truncate towards zero.
struct Div {
  static constexpr char kName[] = "Div";
  using Types = NumericTypes;
  bool *byZero;
  template <typename T> SHARDC_HOST_DEVICE T operator()(T a, T b) const {
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
  using Types = NumericTypes;
  bool *byZero;
  bool fmod;
  template <typename T> SHARDC_HOST_DEVICE T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      *byZero |= b == 0;
      if (b == 0 || (std::is_signed_v<T> && b == T(-1)))
        return T(0);
      const T rest = T(a % b);
      return !fmod && rest != 0 && isNegative(rest) != isNegative(b)
                 ? T(rest + b)
                 : rest;
    } else {
      const T rest = std::fmod(a, b);
      return !fmod && rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
    }
  }
};

struct Min {
  static constexpr char kName[] = "Min";
  using Types = NumericTypes;
  template <typename T> SHARDC_HOST_DEVICE T operator()(T a, T b) const {
    return a < b || a != a ? a : b;
  }
};
struct Max {
  static constexpr char kName[] = "Max";
  using Types = NumericTypes;
  template <typename T> SHARDC_HOST_DEVICE T operator()(T a, T b) const {
    return a > b || a != a ? a : b;
  }
};
struct PRelu {
  static constexpr char kName[] = "PRelu";
  using Types = FloatTypes;
  template <typename T> SHARDC_HOST_DEVICE T operator()(T x, T slope) const {
    return x < T(0) ? slope * x : x;
  }
};

struct Equal {
  static constexpr char kName[] = "Equal";
  using Types = AllTypes;
  template <typename T> SHARDC_HOST_DEVICE bool operator()(T a, T b) const {
    return a == b;
  }
};
struct Less {
  static constexpr char kName[] = "Less";
  using Types = NumericTypes;
  template <typename T> SHARDC_HOST_DEVICE bool operator()(T a, T b) const {
    return a < b;
  }
};
struct LessOrEqual {
  static constexpr char kName[] = "LessOrEqual";
  using Types = NumericTypes;
  template <typename T> SHARDC_HOST_DEVICE bool operator()(T a, T b) const {
    return a <= b;
  }
};
struct Greater {
  static constexpr char kName[] = "Greater";
  using Types = NumericTypes;
  template <typename T> SHARDC_HOST_DEVICE bool operator()(T a, T b) const {
    return a > b;
  }
};
struct GreaterOrEqual {
  static constexpr char kName[] = "GreaterOrEqual";
  using Types = NumericTypes;
  template <typename T> SHARDC_HOST_DEVICE bool operator()(T a, T b) const {
    return a >= b;
  }
};

struct And {
  static constexpr char kName[] = "And", kBitsName[] = "BitwiseAnd";
  template <typename T> SHARDC_HOST_DEVICE T operator()(T a, T b) const {
    return T(a & b);
  }
};
struct Or {
  static constexpr char kName[] = "Or", kBitsName[] = "BitwiseOr";
  template <typename T> SHARDC_HOST_DEVICE T operator()(T a, T b) const {
    return T(a | b);
  }
};
struct Xor {
  static constexpr char kName[] = "Xor", kBitsName[] = "BitwiseXor";
  template <typename T> SHARDC_HOST_DEVICE T operator()(T a, T b) const {
    return T(a ^ b);
  }
};

/// Whole widths and more shift everything out.
struct BitShift {
  bool toLeft;
  template <typename T> SHARDC_HOST_DEVICE T operator()(T x, T by) const {
    if (isNegative(by) || uint64_t(by) >= sizeof(T) * 8)
      return !toLeft && isNegative(x) ? T(-1) : T(0);
    return toLeft ? T(uint64_t(x) << by) : T(x >> by);
  }
};

/// Bits do not care about signs: one instance per size.
template <typename Body>
Status dispatchBits(artifact::ElementType element, const char *kernel,
                    Body body) {
  SHARDC_RETURN_IF_ERROR(
      dispatch(IntegerTypes(), element, kernel, [](auto) {}));
  return dispatchSize(element, kernel, body);
}

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_ELEMENTWISE_BINARYFUNCTIONS_H
