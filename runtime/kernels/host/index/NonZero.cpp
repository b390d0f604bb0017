//===- NonZero.cpp - Indices of the elements that are not 0 ---------------===//
#include "runtime/kernels/Dispatch.h"
#include "runtime/kernels/StridedLoop.h"

namespace shardc::runtime::host {
namespace {

constexpr char kName[] = "NonZero";

/// Column `column` of the result: the index that row-major position `at` has.
void writeIndex(const TensorView &out, int64_t column, const TensorView &x,
                int64_t at) {
  for (int d = x.rank - 1; d >= 0; --d) {
    out.as<int64_t>()[d * out.strides[0] + column * out.strides[1]] =
        at % x.dims[d];
    at /= x.dims[d];
  }
}

/// out: [rank of x, as many columns as x has elements that are not 0]
Status run(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(expectOperands(call, kName, 1));
  const TensorView &x = call.inputs[0], &out = call.outputs[0];
  SHARDC_RETURN_IF_ERROR(
      expectElement(kName, artifact::ElementType_Int64, out));
  if (out.rank != 2 || out.dims[0] != x.rank)
    return failure(kName, "has a result of " + dimsToString(out));
  int64_t at = 0, column = 0;
  SHARDC_RETURN_IF_ERROR(dispatch(AllTypes(), x.element, kName, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    forEachIndex(nestOf(x), [&](const int64_t (&offset)[1]) {
      if (Compute<T>(x.as<T>()[offset[0]]) != Compute<T>(0) &&
          column++ < out.dims[1])
        writeIndex(out, column - 1, x, at);
      ++at;
    });
  }));
  if (column != out.dims[1])
    return failure(kName, "found " + std::to_string(column) +
                              " elements, expected " +
                              std::to_string(out.dims[1]));
  return Status::ok();
}

const HostKernelRegistration registration(kName, {run, nullptr});

} // namespace
} // namespace shardc::runtime::host
