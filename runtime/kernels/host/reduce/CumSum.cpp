//===- CumSum.cpp - Running sums and products along one axis --------------===//

#include "runtime/kernels/Dispatch.h"
#include "runtime/kernels/StridedLoop.h"

namespace shardc::runtime::host {
namespace {

/// Integers wrap around.
struct Sum {
  static constexpr char kName[] = "CumSum";
  static constexpr int kIdentity = 0;
  template <typename C> static C combine(C a, C b) {
    if constexpr (std::is_integral_v<C>)
      return C(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    else
      return a + b;
  }
};
struct Product {
  static constexpr char kName[] = "CumProd";
  static constexpr int kIdentity = 1;
  template <typename C> static C combine(C a, C b) {
    if constexpr (std::is_integral_v<C>)
      return C(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    else
      return a * b;
  }
};

template <typename Op, typename T>
void scan(T *out, int64_t outStride, const T *x, int64_t stride, int64_t count,
          bool exclusive) {
  Compute<T> total(Op::kIdentity);
  for (int64_t i = 0; i < count; ++i) {
    const Compute<T> before = total;
    total = Op::combine(total, Compute<T>(x[i * stride]));
    out[i * outStride] = T(exclusive ? before : total);
  }
}

template <typename Op> Status run(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(expectAlike(call, Op::kName, 1));
  const TensorView &x = call.inputs[0], &out = call.outputs[0];
  int axis = 0;
  SHARDC_RETURN_IF_ERROR(readAxis(call, Op::kName, x.rank, axis));
  const bool exclusive = call.intOr("exclusive", 0) != 0;
  const bool reverse = call.intOr("reverse", 0) != 0;
  const int64_t count = x.dims[axis];
  const int64_t so = out.strides[axis], sx = x.strides[axis];
  const auto lines = nestOf(withoutDim(out, axis), withoutDim(x, axis));
  return dispatch(NumericTypes(), x.element, Op::kName, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    forEachIndex(lines, [&](const int64_t (&at)[2]) {
      T *o = out.as<T>() + at[0];
      const T *from = x.as<T>() + at[1];
      if (reverse && count > 0)
        scan<Op>(o + (count - 1) * so, -so, from + (count - 1) * sx, -sx, count,
                 exclusive);
      else
        scan<Op>(o, so, from, sx, count, exclusive);
    });
  });
}

const HostKernelRegistration registrations[] = {
    {Sum::kName, {run<Sum>, nullptr}},
    {Product::kName, {run<Product>, nullptr}},
};

} // namespace
} // namespace shardc::runtime::host
