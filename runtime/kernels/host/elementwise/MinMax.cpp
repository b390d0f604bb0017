//===- MinMax.cpp - Min, Max, Clip, PRelu: choices by size ----------------===//
//
// A NaN in either operand of Min and Max is the result.
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/elementwise/BinaryFunctions.h"
#include "runtime/kernels/elementwise/UnaryFunctions.h"
#include "runtime/kernels/host/elementwise/Elementwise.h"

namespace shardc::runtime::host {
namespace {

template <typename Op> Status run(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(expectAlike(call, Op::kName, 2));
  const TensorView &a = call.inputs[0], &b = call.inputs[1];
  const TensorView &out = call.outputs[0];
  return dispatch(typename Op::Types(), a.element, Op::kName, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    mapBinary<T, T, T>(out, a, b, Op());
  });
}

constexpr char kClip[] = "Clip";

/// The bounds are scalars, whatever rank their views have; where min > max the
/// result is max.
Status runClip(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(expectAlike(call, kClip, 1));
  const TensorView &x = call.inputs[0], &out = call.outputs[0];
  for (int i = 1; i < call.numInputs; ++i)
    if (hasInput(call, i))
      SHARDC_RETURN_IF_ERROR(expectElement(kClip, x.element, call.inputs[i]));
  if (out.numElements() == 0)
    return Status::ok(); // a broadcast bound may have no element either
  return dispatch(NumericTypes(), x.element, kClip, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    using C = Compute<T>;
    const auto bound = [&](int input, C none) {
      return hasInput(call, input) ? C(*call.inputs[input].as<T>()) : none;
    };
    mapUnary<T, T>(out, x,
                   Clip<C>{bound(1, lowestOf<C>()), bound(2, highestOf<C>())});
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
