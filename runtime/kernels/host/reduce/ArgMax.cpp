//===- ArgMax.cpp - ArgMax and ArgMin along one axis ----------------------===//
//
// The output view has size 1 along the axis. Ties go to the first index, or to
// the last with select_last_index. The first NaN wins over everything.
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/StridedLoop.h"
#include "runtime/kernels/reduce/TopKOrder.h"

namespace shardc::runtime::host {
namespace {

template <bool Max, typename T>
int64_t search(const T *x, int64_t stride, int64_t count, bool last) {
  using C = Compute<T>;
  int64_t found = 0;
  C best(x[0]);
  for (int64_t i = 1; i < count && best == best; ++i) {
    const C value(x[i * stride]);
    const bool better = Max ? value > best : value < best;
    if (better || value != value || (last && value == best)) {
      best = value;
      found = i;
    }
  }
  return found;
}

template <bool Max> Status run(const KernelCall &call) {
  const char *name = Max ? "ArgMax" : "ArgMin";
  int axis = 0;
  SHARDC_RETURN_IF_ERROR(checkArgMax(call, name, axis));
  const TensorView &x = call.inputs[0], &out = call.outputs[0];
  const int64_t count = x.dims[axis], stride = x.strides[axis];
  const bool last = call.intOr("select_last_index", 0) != 0;
  const auto lines = nestOf(withoutDim(out, axis), withoutDim(x, axis));
  return dispatch(NumericTypes(), x.element, name, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    forEachIndex(lines, [&](const int64_t (&at)[2]) {
      out.as<int64_t>()[at[0]] =
          search<Max>(x.as<T>() + at[1], stride, count, last);
    });
  });
}

const HostKernelRegistration registrations[] = {
    {"ArgMax", {run<true>, nullptr}},
    {"ArgMin", {run<false>, nullptr}},
};

} // namespace
} // namespace shardc::runtime::host
