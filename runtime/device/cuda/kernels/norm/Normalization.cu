//===- Normalization.cu - LayerNormalization and RMSNormalization ---------===//
//
// A block a row: everything from `axis` on. Statistics are summed in double, as
// the host's.
//
//===----------------------------------------------------------------------===//
#include "runtime/device/cuda/CudaKernels.h"
#include "runtime/device/cuda/kernels/CallStream.h"
#include "runtime/device/cuda/kernels/Warp.h"
#include "runtime/device/cuda/kernels/layout/Nest.h"
#include "runtime/kernels/Dispatch.h"
#include "runtime/kernels/norm/NormalizationOperands.h"

#include <cmath>

namespace shardc::runtime::cuda {
namespace {

template <typename T> struct Norm {
  // Both statistics are floats whatever X holds, unless X is double.
  using Statistic = host::Compute<T>;
  T *y;
  const T *x, *scale, *bias;
  Statistic *mean, *inverse; ///< bias, mean and inverse may be null
  double epsilon;
  bool isCentered;
};

/// Strides of `rows`: y, x, mean, inverse. Of `row`: y, x, scale, bias.
template <typename T>
__global__ void normKernel(Norm<T> n, Nest<4> rows, Nest<4> row) {
  using C = host::Compute<T>;
  const auto add = [](double a, double b) { return a + b; };
  const auto size = static_cast<double>(row.count);
  for (int64_t r = blockIdx.x; r < rows.count; r += gridDim.x) {
    int64_t first[4], at[4];
    rows.offsets(r, first);
    const T *x = n.x + first[1];
    C mean = 0;
    if (n.isCentered) {
      double sum = 0;
      for (int64_t i = threadIdx.x; i < row.count; i += blockDim.x) {
        row.offsets(i, at);
        sum += C(x[at[1]]);
      }
      mean = C(reduceBlock(sum, add) / size);
    }
    double squares = 0;
    for (int64_t i = threadIdx.x; i < row.count; i += blockDim.x) {
      row.offsets(i, at);
      const C centered = C(x[at[1]]) - mean;
      squares += centered * centered;
    }
    const double variance = reduceBlock(squares, add) / size;
    const C inverse = C(1) / std::sqrt(C(variance) + C(n.epsilon));
    for (int64_t i = threadIdx.x; i < row.count; i += blockDim.x) {
      row.offsets(i, at);
      const C value = (C(x[at[1]]) - mean) * inverse;
      const C weight = C(n.scale[at[2]]);
      // Rounded before its scale where there is no bias, as ONNX's function.
      n.y[first[0] + at[0]] =
          T(n.bias ? value * weight + C(n.bias[at[3]]) : C(T(value)) * weight);
    }
    if (threadIdx.x == 0 && n.mean)
      n.mean[first[2]] = mean;
    if (threadIdx.x == 0 && n.inverse)
      n.inverse[first[3]] = inverse;
  }
}

template <bool isCentered> Status run(const KernelCall &call) {
  const char *name = isCentered ? "LayerNormalization" : "RMSNormalization";
  host::NormalizationOperands o;
  SHARDC_RETURN_IF_ERROR(host::readNormalization(call, name, o));
  const auto part = [&](const TensorView &view) {
    return host::dimsOf(view, o.axis, o.x.rank);
  };
  const auto row = nestOf(part(o.y), part(o.x), o.scale, o.bias);
  const auto rows = nestOf(host::dimsOf(o.y, 0, o.axis),
                           host::dimsOf(o.x, 0, o.axis), o.mean, o.inverse);
  return host::dispatch(host::FloatTypes(), o.x.element, name, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    using S = typename Norm<T>::Statistic;
    if (rows.count == 0)
      return Status::ok();
    const Norm<T> norm = {o.y.as<T>(),    o.x.as<T>(),    o.scale.as<T>(),
                          o.bias.as<T>(), o.mean.as<S>(), o.inverse.as<S>(),
                          o.epsilon,      isCentered};
    return launch(normKernel<T>, blockPerRow<double>(rows.count, row.count),
                  streamOf(call), norm, rows, row);
  });
}

const CudaKernelRegistration registrations[] = {
    {"LayerNormalization", {run<true>, nullptr}},
    {"RMSNormalization", {run<false>, nullptr}},
};

} // namespace
} // namespace shardc::runtime::cuda
