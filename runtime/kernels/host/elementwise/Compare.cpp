//===- Compare.cpp - Comparisons: two numbers to a bool -------------------===//

#include "runtime/kernels/elementwise/BinaryFunctions.h"
#include "runtime/kernels/elementwise/UnaryFunctions.h"
#include "runtime/kernels/host/elementwise/Elementwise.h"

namespace shardc::runtime::host {
namespace {

template <typename Op> Status compare(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(expectBools(call, Op::kName, 2));
  const TensorView &a = call.inputs[0], &b = call.inputs[1];
  const TensorView &out = call.outputs[0];
  return dispatch(typename Op::Types(), a.element, Op::kName, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    mapBinary<Boolean, T, T>(out, a, b, Op());
  });
}

template <typename Op> Status classify(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(expectBools(call, Op::kName, 1));
  const TensorView &x = call.inputs[0], &out = call.outputs[0];
  return dispatch(FloatTypes(), x.element, Op::kName, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    mapUnary<Boolean, T>(out, x, Op(call));
  });
}

const HostKernelRegistration registrations[] = {
    {Equal::kName, {compare<Equal>, nullptr}},
    {Less::kName, {compare<Less>, nullptr}},
    {LessOrEqual::kName, {compare<LessOrEqual>, nullptr}},
    {Greater::kName, {compare<Greater>, nullptr}},
    {GreaterOrEqual::kName, {compare<GreaterOrEqual>, nullptr}},
    {IsNaN::kName, {classify<IsNaN>, nullptr}},
    {IsInf::kName, {classify<IsInf>, nullptr}},
};

} // namespace
} // namespace shardc::runtime::host
