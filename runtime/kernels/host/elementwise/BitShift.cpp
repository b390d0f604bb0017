//===- BitShift.cpp - Shifts, and bits read as another type ---------------===//

#include "runtime/kernels/elementwise/BinaryFunctions.h"
#include "runtime/kernels/host/elementwise/Elementwise.h"
#include "runtime/kernels/layout/StridedCopy.h"

namespace shardc::runtime::host {
namespace {

Status runBitShift(const KernelCall &call) {
  constexpr char name[] = "BitShift";
  SHARDC_RETURN_IF_ERROR(expectAlike(call, name, 2));
  const TensorView &a = call.inputs[0], &b = call.inputs[1];
  const TensorView &out = call.outputs[0];
  const KernelAttribute *direction = call.find("direction");
  if (!direction || (direction->text != "LEFT" && direction->text != "RIGHT"))
    return failure(name, "direction must be LEFT or RIGHT");
  const bool toLeft = direction->text == "LEFT";
  return dispatch(IntegerTypes(), a.element, name, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    mapBinary<T, T, T>(out, a, b, BitShift{toLeft});
  });
}

Status runBitCast(const KernelCall &call) {
  constexpr char name[] = "BitCast";
  SHARDC_RETURN_IF_ERROR(expectOperands(call, name, 1));
  const TensorView &x = call.inputs[0], &out = call.outputs[0];
  SHARDC_RETURN_IF_ERROR(expectDims(name, out, x));
  if (artifact::elementBytes(x.element) != artifact::elementBytes(out.element))
    return failure(name, "types of different sizes");
  StridedCopy(out, x)(out.data, x.data);
  return Status::ok();
}

const HostKernelRegistration registrations[] = {
    {"BitShift", {runBitShift, nullptr}},
    {"BitCast", {runBitCast, nullptr}},
};

} // namespace
} // namespace shardc::runtime::host
