//===- ExpertActivation.h - What is between the products of an expert -----===//
//
// Attributes `activation`, `alpha`, `gate`, `shift` and `limit` of
// MixtureOfExperts: a row of the first product becomes one of the second.
//
//   h[i] = f(min(g, limit)) * (clamp(u, -limit, limit) + shift)
//
// with g and u in halves of the row, or beside each other; without a gate f(x).
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_KERNELS_EXPERTS_EXPERTACTIVATION_H
#define SHARDC_RUNTIME_KERNELS_EXPERTS_EXPERTACTIVATION_H

#include "runtime/kernels/Kernel.h"
#include "runtime/kernels/elementwise/FloatMath.h"

#include <limits>
#include <numbers>

namespace shardc::runtime::host {

template <typename Acc> struct ExpertActivation {
  enum class Function { Silu, Gelu, GeluByTanh, Relu, Identity };
  Function function = Function::Silu;
  Acc alpha = 1, shift = 0, limit = 0;
  bool isGated = false;
  int64_t step = 1, other = 0; ///< gate i at i * step, its partner `other` on

  void read(const KernelCall &call, int64_t hidden) {
    alpha = Acc(call.floatOr("alpha", 1));
    shift = Acc(call.floatOr("shift", 0));
    limit = Acc(call.floatOr("limit", std::numeric_limits<double>::infinity()));
    if (const KernelAttribute *gate = call.find("gate")) {
      isGated = gate->text != "none";
      const bool isInterleaved = gate->text == "interleaved";
      step = isInterleaved ? 2 : 1;
      other = isInterleaved ? 1 : hidden;
    }
    if (const KernelAttribute *named = call.find("activation"))
      function = named->text == "silu"        ? Function::Silu
                 : named->text == "gelu"      ? Function::Gelu
                 : named->text == "gelu_tanh" ? Function::GeluByTanh
                 : named->text == "relu"      ? Function::Relu
                                              : Function::Identity;
  }

  /// Calls body with the function.
  template <typename Body> SHARDC_HOST_DEVICE void dispatch(Body body) const {
    const Acc factor = alpha;
    switch (function) {
    case Function::Silu:
      return body(
          [factor](Acc x) { return x / (Acc(1) + exponential(-factor * x)); });
    case Function::Gelu:
      return body([](Acc x) {
        return Acc(0.5) * x *
               (Acc(1) +
                errorFunction(x * (Acc(1) / std::numbers::sqrt2_v<Acc>)));
      });
    case Function::GeluByTanh:
      return body([](Acc x) {
        constexpr Acc scale =
            std::numbers::sqrt2_v<Acc> * std::numbers::inv_sqrtpi_v<Acc>;
        return Acc(0.5) * x *
               (Acc(1) +
                hyperbolicTangent(scale * (x + Acc(0.044715) * x * x * x)));
      });
    case Function::Relu:
      return body([](Acc x) { return x < Acc(0) ? Acc(0) : x; });
    case Function::Identity:
      return body([](Acc x) { return x; });
    }
  }

  /// Element i of what `row` becomes.
  template <typename F>
  SHARDC_HOST_DEVICE Acc at(const Acc *row, int64_t i, F f) const {
    if (!isGated)
      return f(row[i]);
    const Acc g = row[i * step], u = row[i * step + other];
    return f(g > limit ? limit : g) * ((u > limit    ? limit
                                        : u < -limit ? -limit
                                                     : u) +
                                       shift);
  }
};

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_EXPERTS_EXPERTACTIVATION_H
