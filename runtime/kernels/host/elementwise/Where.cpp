//===- Where.cpp - Choose elementwise between two values ------------------===//

#include "runtime/kernels/Dispatch.h"
#include "runtime/kernels/host/ThreadedLoop.h"

namespace shardc::runtime::host {
namespace {

constexpr char kName[] = "Where";

template <typename T>
void choose(const TensorView &out, const TensorView &condition,
            const TensorView &x, const TensorView &y) {
  const auto nest = nestOf(out, condition, x, y);
  const int64_t so = nest.innerStride(0), sc = nest.innerStride(1);
  const int64_t sx = nest.innerStride(2), sy = nest.innerStride(3);
  forEachRowOnThreads(nest, [&](const int64_t (&at)[4], int64_t count) {
    T *o = out.as<T>() + at[0];
    const Boolean *c = condition.as<Boolean>() + at[1];
    const T *a = x.as<T>() + at[2], *b = y.as<T>() + at[3];
    if (so == 1 && sc == 1 && sx == 1 && sy == 1) {
#pragma GCC ivdep
      for (int64_t i = 0; i < count; ++i)
        o[i] = c[i] ? a[i] : b[i];
    } else if (so == 1 && sc == 1 && sx == 1 && sy == 0) { // a masked score
      const T other = b[0];
#pragma GCC ivdep
      for (int64_t i = 0; i < count; ++i)
        o[i] = c[i] ? a[i] : other;
    } else {
      for (int64_t i = 0; i < count; ++i)
        o[i * so] = c[i * sc] ? a[i * sx] : b[i * sy];
    }
  });
}

Status run(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(expectOperands(call, kName, 3));
  const TensorView &condition = call.inputs[0], &out = call.outputs[0];
  const TensorView &x = call.inputs[1], &y = call.inputs[2];
  SHARDC_RETURN_IF_ERROR(expectDims(kName, out, condition));
  SHARDC_RETURN_IF_ERROR(
      expectElement(kName, artifact::ElementType_Bool, condition));
  SHARDC_RETURN_IF_ERROR(expectLike(kName, out, x));
  SHARDC_RETURN_IF_ERROR(expectLike(kName, out, y));
  return dispatchSize(out.element, kName, [&](auto tag) {
    choose<typename decltype(tag)::Type>(out, condition, x, y);
  });
}

const HostKernelRegistration registration(kName, {run, nullptr});

} // namespace
} // namespace shardc::runtime::host
