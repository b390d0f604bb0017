//===- ActivationFunctions.h - Activation functions -----------------------===//
//
// Functions that models use most are inlined by force: as a call, which is what
// the inliner leaves in a file of this size, they would keep their loop scalar.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_KERNELS_ELEMENTWISE_ACTIVATIONFUNCTIONS_H
#define SHARDC_RUNTIME_KERNELS_ELEMENTWISE_ACTIVATIONFUNCTIONS_H

#include "runtime/kernels/Dispatch.h"
#include "runtime/kernels/elementwise/FloatMath.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace shardc::runtime::host {

template <typename T> SHARDC_HOST_DEVICE T softplus(T x) {
  return std::max(x, T(0)) + std::log1p(exponential(-std::abs(x)));
}

struct Tanh {
  static constexpr char kName[] = "Tanh";
  explicit Tanh(const KernelCall &) {}
  template <typename T>
  [[gnu::always_inline]] SHARDC_HOST_DEVICE T operator()(T x) const {
    return hyperbolicTangent(x);
  }
};
struct Sigmoid {
  static constexpr char kName[] = "Sigmoid";
  explicit Sigmoid(const KernelCall &) {}
  template <typename T>
  [[gnu::always_inline]] SHARDC_HOST_DEVICE T operator()(T x) const {
    return T(1) / (T(1) + exponential(-x));
  }
};
struct Relu {
  static constexpr char kName[] = "Relu";
  explicit Relu(const KernelCall &) {}
  template <typename T> SHARDC_HOST_DEVICE T operator()(T x) const {
    return x < T(0) ? T(0) : x; // keeps NaN
  }
};
struct Softplus {
  static constexpr char kName[] = "Softplus";
  explicit Softplus(const KernelCall &) {}
  template <typename T> SHARDC_HOST_DEVICE T operator()(T x) const {
    return softplus(x);
  }
};
struct Softsign {
  static constexpr char kName[] = "Softsign";
  explicit Softsign(const KernelCall &) {}
  template <typename T> SHARDC_HOST_DEVICE T operator()(T x) const {
    return x / (T(1) + std::abs(x));
  }
};
struct LeakyRelu {
  static constexpr char kName[] = "LeakyRelu";
  double alpha;
  explicit LeakyRelu(const KernelCall &call)
      : alpha(call.floatOr("alpha", 0.01)) {}
  template <typename T> SHARDC_HOST_DEVICE T operator()(T x) const {
    return x < T(0) ? T(alpha) * x : x;
  }
};
struct Elu {
  static constexpr char kName[] = "Elu";
  double alpha;
  explicit Elu(const KernelCall &call) : alpha(call.floatOr("alpha", 1.0)) {}
  template <typename T> SHARDC_HOST_DEVICE T operator()(T x) const {
    return x < T(0) ? T(alpha) * std::expm1(x) : x;
  }
};
struct Selu {
  static constexpr char kName[] = "Selu";
  double alpha, gamma;
  explicit Selu(const KernelCall &call)
      : alpha(call.floatOr("alpha", 1.67326319217681884765625)),
        gamma(call.floatOr("gamma", 1.05070102214813232421875)) {}
  template <typename T> SHARDC_HOST_DEVICE T operator()(T x) const {
    return T(gamma) * (x < T(0) ? T(alpha) * std::expm1(x) : x);
  }
};
struct HardSigmoid {
  static constexpr char kName[] = "HardSigmoid";
  double alpha, beta;
  explicit HardSigmoid(const KernelCall &call)
      : alpha(call.floatOr("alpha", 0.2)), beta(call.floatOr("beta", 0.5)) {}
  template <typename T> SHARDC_HOST_DEVICE T operator()(T x) const {
    return std::clamp(T(alpha) * x + T(beta), T(0), T(1));
  }
};
struct HardSwish {
  static constexpr char kName[] = "HardSwish";
  explicit HardSwish(const KernelCall &) {}
  template <typename T> SHARDC_HOST_DEVICE T operator()(T x) const {
    return x * std::clamp(x / T(6) + T(0.5), T(0), T(1));
  }
};
/// SiLU where alpha is 1.
struct Swish {
  static constexpr char kName[] = "Swish";
  double alpha;
  explicit Swish(const KernelCall &call) : alpha(call.floatOr("alpha", 1.0)) {}
  template <typename T>
  [[gnu::always_inline]] SHARDC_HOST_DEVICE T operator()(T x) const {
    return x / (T(1) + exponential(-T(alpha) * x));
  }
};
struct Mish {
  static constexpr char kName[] = "Mish";
  explicit Mish(const KernelCall &) {}
  template <typename T> SHARDC_HOST_DEVICE T operator()(T x) const {
    return x * hyperbolicTangent(softplus(x));
  }
};
struct GeluByErf {
  static constexpr char kName[] = "Gelu";
  explicit GeluByErf(const KernelCall &) {}
  template <typename T>
  [[gnu::always_inline]] SHARDC_HOST_DEVICE T operator()(T x) const {
    return T(0.5) * x *
           (T(1) + errorFunction(x * (T(1) / std::numbers::sqrt2_v<T>)));
  }
};
struct GeluByTanh {
  static constexpr char kName[] = "Gelu";
  explicit GeluByTanh(const KernelCall &) {}
  template <typename T>
  [[gnu::always_inline]] SHARDC_HOST_DEVICE T operator()(T x) const {
    constexpr T scale =
        std::numbers::sqrt2_v<T> * std::numbers::inv_sqrtpi_v<T>;
    return T(0.5) * x *
           (T(1) + hyperbolicTangent(scale * (x + T(0.044715) * x * x * x)));
  }
};

template <typename Op>
using ActivationTypes =
    std::conditional_t<std::is_same_v<Op, Relu>,
                       decltype(FloatTypes() + SignedTypes()), FloatTypes>;

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_ELEMENTWISE_ACTIVATIONFUNCTIONS_H
