//===- MinMax.cpp - Min, Max, Clip, PRelu: choices by size ----------------===//
//
// A NaN in either operand of Min and Max is the result.
//
//===----------------------------------------------------------------------===//

#include "runtime/backend/host/kernels/Dispatch.h"
#include "runtime/backend/host/kernels/Elementwise.h"

#include <limits>

namespace shardc::runtime::host {
namespace {

struct Min {
  static constexpr char kName[] = "Min";
  using Types = NumericTypes;
  template <typename T> T operator()(T a, T b) const {
    return a < b || a != a ? a : b;
  }
};
struct Max {
  static constexpr char kName[] = "Max";
  using Types = NumericTypes;
  template <typename T> T operator()(T a, T b) const {
    return a > b || a != a ? a : b;
  }
};
struct PRelu {
  static constexpr char kName[] = "PRelu";
  using Types = FloatTypes;
  template <typename T> T operator()(T x, T slope) const {
    return x < T(0) ? slope * x : x;
  }
};

template <typename Op> Status run(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(expectOperands(call, Op::kName, 2));
  const TensorView &a = call.inputs[0], &b = call.inputs[1];
  const TensorView &out = call.outputs[0];
  SHARDC_RETURN_IF_ERROR(expectLike(Op::kName, out, a));
  SHARDC_RETURN_IF_ERROR(expectLike(Op::kName, out, b));
  return dispatch(typename Op::Types(), a.element, Op::kName, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    mapBinary<T, T, T>(out, a, b, Op());
  });
}

constexpr char kClip[] = "Clip";

/// The bounds are scalars, whatever rank their views have; where min > max the
/// result is max.
Status runClip(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(expectOperands(call, kClip, 1));
  const TensorView &x = call.inputs[0], &out = call.outputs[0];
  SHARDC_RETURN_IF_ERROR(expectLike(kClip, out, x));
  for (int i = 1; i < call.numInputs; ++i)
    if (hasInput(call, i))
      SHARDC_RETURN_IF_ERROR(expectElement(kClip, x.element, call.inputs[i]));
  if (out.numElements() == 0)
    return Status::ok(); // a broadcast bound may have no element either
  return dispatch(NumericTypes(), x.element, kClip, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    using C = Compute<T>;
    using Limits = std::numeric_limits<C>;
    const bool hasLow = hasInput(call, 1), hasHigh = hasInput(call, 2);
    const C least =
        Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    const C most = Limits::has_infinity ? Limits::infinity() : Limits::max();
    const C low = hasLow ? C(*call.inputs[1].as<T>()) : least;
    const C high = hasHigh ? C(*call.inputs[2].as<T>()) : most;
    mapUnary<T, T>(out, x, [=](C value) {
      const C raised = value < low ? low : value;
      return raised > high ? high : raised;
    });
  });
}

const HostKernelRegistration registrations[] = {
    {Min::kName, {run<Min>, nullptr}},
    {Max::kName, {run<Max>, nullptr}},
    {PRelu::kName, {run<PRelu>, nullptr}},
    {kClip, {runClip, nullptr}},
};

} // namespace
} // namespace shardc::runtime::host
