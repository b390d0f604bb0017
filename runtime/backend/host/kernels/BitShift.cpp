//===- BitShift.cpp - Shifts, and bits read as another type ---------------===//

#include "runtime/backend/host/kernels/Dispatch.h"
#include "runtime/backend/host/kernels/Elementwise.h"
#include "runtime/backend/host/kernels/StridedCopy.h"

namespace shardc::runtime::host {
namespace {

/// Whole widths and more shift everything out.
template <typename T> T shift(T x, T by, bool toLeft) {
  if (by < T(0) || uint64_t(by) >= sizeof(T) * 8)
    return !toLeft && x < T(0) ? T(-1) : T(0);
  return toLeft ? T(uint64_t(x) << by) : T(x >> by);
}

Status runBitShift(const KernelCall &call) {
  constexpr char name[] = "BitShift";
  SHARDC_RETURN_IF_ERROR(expectOperands(call, name, 2));
  const TensorView &a = call.inputs[0], &b = call.inputs[1];
  const TensorView &out = call.outputs[0];
  SHARDC_RETURN_IF_ERROR(expectLike(name, out, a));
  SHARDC_RETURN_IF_ERROR(expectLike(name, out, b));
  const KernelAttribute *direction = call.find("direction");
  if (!direction || (direction->text != "LEFT" && direction->text != "RIGHT"))
    return failure(name, "direction must be LEFT or RIGHT");
  const bool toLeft = direction->text == "LEFT";
  return dispatch(IntegerTypes(), a.element, name, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    mapBinary<T, T, T>(out, a, b,
                       [&](T x, T by) { return shift(x, by, toLeft); });
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
