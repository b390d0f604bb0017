//===- CumSum.cpp - Running sums along one axis ---------------------------===//

#include "runtime/backend/host/kernels/Dispatch.h"
#include "runtime/backend/host/kernels/StridedLoop.h"

namespace shardc::runtime::host {
namespace {

constexpr char kName[] = "CumSum";

/// Integers wrap around.
template <typename C> C plus(C a, C b) {
  if constexpr (std::is_integral_v<C>)
    return C(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  else
    return a + b;
}

template <typename T>
void scan(T *out, int64_t outStride, const T *x, int64_t stride, int64_t count,
          bool exclusive) {
  Compute<T> sum(0);
  for (int64_t i = 0; i < count; ++i) {
    const Compute<T> before = sum;
    sum = plus(sum, Compute<T>(x[i * stride]));
    out[i * outStride] = T(exclusive ? before : sum);
  }
}

Status run(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(expectOperands(call, kName, 1));
  const TensorView &x = call.inputs[0], &out = call.outputs[0];
  SHARDC_RETURN_IF_ERROR(expectLike(kName, out, x));
  int axis = 0;
  SHARDC_RETURN_IF_ERROR(readAxis(call, kName, x.rank, axis));
  const bool exclusive = call.intOr("exclusive", 0) != 0;
  const bool reverse = call.intOr("reverse", 0) != 0;
  const int64_t count = x.dims[axis];
  const int64_t so = out.strides[axis], sx = x.strides[axis];
  const auto lines = nestOf(withoutDim(out, axis), withoutDim(x, axis));
  return dispatch(NumericTypes(), x.element, kName, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    forEachIndex(lines, [&](const int64_t (&at)[2]) {
      T *o = out.as<T>() + at[0];
      const T *from = x.as<T>() + at[1];
      if (reverse && count > 0)
        scan(o + (count - 1) * so, -so, from + (count - 1) * sx, -sx, count,
             exclusive);
      else
        scan(o, so, from, sx, count, exclusive);
    });
  });
}

const HostKernelRegistration registration(kName, {run, nullptr});

} // namespace
} // namespace shardc::runtime::host
