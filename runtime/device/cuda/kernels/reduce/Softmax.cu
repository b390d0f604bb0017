//===- Softmax.cu - Softmax and LogSoftmax along one axis, on a GPU -------===//
//
// A block a row, which it reads three times: for the maximum, for the sum (in
// double, as the host's), and for the result.
//
//===----------------------------------------------------------------------===//
#include "runtime/device/cuda/CudaKernels.h"
#include "runtime/device/cuda/kernels/CallStream.h"
#include "runtime/device/cuda/kernels/Warp.h"
#include "runtime/device/cuda/kernels/layout/Nest.h"
#include "runtime/kernels/Dispatch.h"
#include "runtime/kernels/StridedLoop.h"
#include "runtime/kernels/elementwise/FloatMath.h"

#include <cmath>
#include <limits>

namespace shardc::runtime::cuda {
namespace {

struct Row {
  int64_t count, outStride, stride;
  bool isLog;
};

template <typename T>
__global__ void softmaxKernel(T *out, const T *x, Nest<2> rows, Row row) {
  using C = host::Compute<T>;
  for (int64_t r = blockIdx.x; r < rows.count; r += gridDim.x) {
    int64_t at[2];
    rows.offsets(r, at);
    const T *from = x + at[1];
    T *to = out + at[0];
    C maximum = -std::numeric_limits<C>::infinity();
    const auto raise = [](C a, C b) { return a > b || a != a ? a : b; };
    for (int64_t i = threadIdx.x; i < row.count; i += blockDim.x)
      maximum = raise(maximum, C(from[i * row.stride]));
    maximum = reduceBlock(maximum, raise);
    double sum = 0;
    for (int64_t i = threadIdx.x; i < row.count; i += blockDim.x)
      sum += host::exponential(C(from[i * row.stride]) - maximum);
    sum = reduceBlock(sum, [](double a, double b) { return a + b; });
    const C total = row.isLog ? C(std::log(sum)) : C(sum);
    for (int64_t i = threadIdx.x; i < row.count; i += blockDim.x) {
      const C shifted = C(from[i * row.stride]) - maximum;
      to[i * row.outStride] =
          T(row.isLog ? shifted - total : host::exponential(shifted) / total);
    }
  }
}

template <bool isLog> Status run(const KernelCall &call) {
  const char *name = isLog ? "LogSoftmax" : "Softmax";
  SHARDC_RETURN_IF_ERROR(host::expectAlike(call, name, 1));
  const TensorView &x = call.inputs[0], &out = call.outputs[0];
  int axis = 0;
  SHARDC_RETURN_IF_ERROR(host::readAxis(call, name, x.rank, axis));
  const Row row = {x.dims[axis], out.strides[axis], x.strides[axis], isLog};
  const auto rows =
      nestOf(host::withoutDim(out, axis), host::withoutDim(x, axis));
  return host::dispatch(host::FloatTypes(), x.element, name, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    if (rows.count == 0 || row.count == 0)
      return Status::ok();
    return launch(softmaxKernel<T>, blockPerRow<double>(rows.count, row.count),
                  streamOf(call), out.as<T>(), x.as<T>(), rows, row);
  });
}

const CudaKernelRegistration registrations[] = {
    {"Softmax", {run<false>, nullptr}},
    {"LogSoftmax", {run<true>, nullptr}},
};

} // namespace
} // namespace shardc::runtime::cuda
