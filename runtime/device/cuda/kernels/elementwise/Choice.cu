//===- Choice.cu - Where, Clip, Pow and BitShift --------------------------===//
#include "runtime/device/cuda/CudaKernels.h"
#include "runtime/device/cuda/kernels/elementwise/ElementwiseKernels.h"
#include "runtime/kernels/elementwise/BinaryFunctions.h"
#include "runtime/kernels/elementwise/PowFunctions.h"
#include "runtime/kernels/elementwise/UnaryFunctions.h"

namespace shardc::runtime::cuda {
namespace {

template <typename T>
__global__ void whereKernel(T *out, const host::Boolean *condition, const T *x,
                            const T *y, Nest<4> nest) {
  for (int64_t i = firstElement(); i < nest.count; i += allThreads()) {
    int64_t at[4];
    nest.offsets(i, at);
    out[at[0]] = condition[at[1]] ? x[at[2]] : y[at[3]];
  }
}

Status runWhere(const KernelCall &call) {
  constexpr char name[] = "Where";
  SHARDC_RETURN_IF_ERROR(host::expectOperands(call, name, 3));
  const TensorView &condition = call.inputs[0], &out = call.outputs[0];
  const TensorView &x = call.inputs[1], &y = call.inputs[2];
  SHARDC_RETURN_IF_ERROR(host::expectDims(name, out, condition));
  SHARDC_RETURN_IF_ERROR(
      host::expectElement(name, artifact::ElementType_Bool, condition));
  SHARDC_RETURN_IF_ERROR(host::expectLike(name, out, x));
  SHARDC_RETURN_IF_ERROR(host::expectLike(name, out, y));
  const auto nest = nestOf(out, condition, x, y);
  return host::dispatchSize(out.element, name, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    if (nest.count == 0)
      return Status::ok();
    return launch(whereKernel<T>, nest.grid(), streamOf(call), out.as<T>(),
                  condition.as<host::Boolean>(), x.as<T>(), y.as<T>(), nest);
  });
}

/// The bounds are on the GPU; null: there is none.
template <typename T> struct ClipTo {
  const T *low, *high;
  __device__ host::Compute<T> operator()(host::Compute<T> x) const {
    using C = host::Compute<T>;
    const host::Clip<C> clip = {low ? C(*low) : host::lowestOf<C>(),
                                high ? C(*high) : host::highestOf<C>()};
    return clip(x);
  }
};

Status runClip(const KernelCall &call) {
  constexpr char name[] = "Clip";
  SHARDC_RETURN_IF_ERROR(host::expectAlike(call, name, 1));
  const TensorView &x = call.inputs[0], &out = call.outputs[0];
  for (int i = 1; i < call.numInputs; ++i)
    if (host::hasInput(call, i))
      SHARDC_RETURN_IF_ERROR(
          host::expectElement(name, x.element, call.inputs[i]));
  return host::dispatch(host::NumericTypes(), x.element, name, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const auto bound = [&](int input) -> const T * {
      return host::hasInput(call, input) ? call.inputs[input].as<T>() : nullptr;
    };
    return launchUnary<T, T>(call, out, x, ClipTo<T>{bound(1), bound(2)});
  });
}

Status runBitShift(const KernelCall &call) {
  constexpr char name[] = "BitShift";
  SHARDC_RETURN_IF_ERROR(host::expectAlike(call, name, 2));
  const KernelAttribute *direction = call.find("direction");
  if (!direction || (direction->text != "LEFT" && direction->text != "RIGHT"))
    return host::failure(name, "direction must be LEFT or RIGHT");
  const host::BitShift shift{direction->text == "LEFT"};
  const TensorView &out = call.outputs[0];
  return host::dispatch(host::IntegerTypes(), out.element, name, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return launchBinary<T, T, T>(call, out, call.inputs[0], call.inputs[1],
                                 shift);
  });
}

const CudaKernelRegistration registrations[] = {
    {"Where", {runWhere, nullptr}},
    {"Clip", {runClip, nullptr}},
    {"BitShift", {runBitShift, nullptr}},
};

} // namespace
} // namespace shardc::runtime::cuda
