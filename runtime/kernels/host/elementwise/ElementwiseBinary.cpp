//===- ElementwiseBinary.cpp - Arithmetic of two operands -----------------===//
//
// Integers wrap around as ONNX Runtime's do; integer division by zero is an
// error of the inputs that led to it, found without a branch out of the loop.
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/elementwise/BinaryFunctions.h"
#include "runtime/kernels/host/elementwise/Elementwise.h"

namespace shardc::runtime::host {
namespace {

template <typename Op>
Status apply(const KernelCall &call, const Op &op, const bool *byZero) {
  SHARDC_RETURN_IF_ERROR(expectAlike(call, Op::kName, 2));
  const TensorView &a = call.inputs[0], &b = call.inputs[1];
  const TensorView &out = call.outputs[0];
  SHARDC_RETURN_IF_ERROR(
      dispatch(typename Op::Types(), a.element, Op::kName, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        mapBinary<T, T, T>(out, a, b, op);
      }));
  if (byZero && *byZero)
    return Status::error(StatusCode::InvalidArgument,
                         std::string(Op::kName) + ": integer division by zero");
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
