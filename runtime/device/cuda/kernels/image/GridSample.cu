//===- GridSample.cu - An image at the positions of a grid ----------------===//
//
// A thread an element of Y. Up to three spatial dims.
//
//===----------------------------------------------------------------------===//
#include "runtime/base/Message.h"
#include "runtime/device/cuda/CudaKernels.h"
#include "runtime/device/cuda/kernels/CallStream.h"
#include "runtime/device/cuda/kernels/layout/Nest.h"
#include "runtime/kernels/Dispatch.h"
#include "runtime/kernels/StridedLoop.h"
#include "runtime/kernels/image/GridTaps.h"

namespace shardc::runtime::cuda {
namespace {

constexpr char kName[] = "GridSample";
/// Spatial dims; their taps are on a thread's stack.
constexpr int kMostDims = 3;

struct GridProblem {
  host::Sampler sampler;
  int spatial;
  int64_t channels, images;
  int64_t dims[kMostDims], strides[kMostDims]; ///< of X
  int64_t x[2], y[2], grid;                    ///< images, channels
  int64_t last;                                ///< along a position
  Nest<2> points;                              ///< Y and the grid
};

/// Sum over the taps of dims d and on, of which those that are not there have
/// one tap.
template <typename T, typename P>
__device__ double sumTaps(const T *x, const host::Taps<P> (&taps)[kMostDims]) {
  double sum = 0;
  for (int i = 0; i < taps[0].count; ++i) {
    double plane = 0;
    for (int j = 0; j < taps[1].count; ++j) {
      double line = 0;
      for (int k = 0; k < taps[2].count; ++k)
        line +=
            double(taps[2].weight[k]) *
            double(host::Compute<T>(
                x[taps[0].offset[i] + taps[1].offset[j] + taps[2].offset[k]]));
      plane += double(taps[1].weight[j]) * line;
    }
    sum += double(taps[0].weight[i]) * plane;
  }
  return sum;
}

template <typename T, typename G>
__global__ void sampleKernel(T *y, const T *x, const G *grid,
                             const __grid_constant__ GridProblem p) {
  using P = host::Compute<G>;
  const int64_t count = p.images * p.channels * p.points.count;
  for (int64_t i = firstElement(); i < count; i += allThreads()) {
    const int64_t rest = i / p.points.count;
    const int64_t n = rest / p.channels, c = rest - n * p.channels;
    int64_t at[2];
    p.points.offsets(i - rest * p.points.count, at);
    const G *position = grid + n * p.grid + at[1];
    host::Taps<P> taps[kMostDims];
#pragma unroll
    for (int d = 0; d < kMostDims; ++d) {
      const int own = d - (kMostDims - p.spatial); // dim of the image
      if (own < 0) {
        taps[d].count = 1;
        taps[d].offset[0] = 0;
        taps[d].weight[0] = 1;
      } else {
        taps[d] = host::Dimension<P>(p.sampler, p.dims[own], p.strides[own])
                      .tapsAt(P(position[(p.spatial - 1 - own) * p.last]));
      }
    }
    y[n * p.y[0] + c * p.y[1] + at[0]] =
        T(host::Compute<T>(sumTaps(x + n * p.x[0] + c * p.x[1], taps)));
  }
}

Status run(const KernelCall &call) {
  GridProblem p = {};
  SHARDC_RETURN_IF_ERROR(host::readGrid(call, kName, p.sampler));
  const TensorView &x = call.inputs[0], &grid = call.inputs[1];
  const TensorView &y = call.outputs[0];
  p.spatial = x.rank - 2;
  if (p.spatial > kMostDims)
    return unsupportedError(
        kName, ": the GPU samples images of up to 3 dims, found X ",
        host::dimsToString(x));
  p.images = x.dims[0];
  p.channels = x.dims[1];
  std::copy_n(x.dims + 2, p.spatial, p.dims);
  std::copy_n(x.strides + 2, p.spatial, p.strides);
  std::copy_n(x.strides, 2, p.x);
  std::copy_n(y.strides, 2, p.y);
  p.grid = grid.strides[0];
  p.last = grid.strides[grid.rank - 1];
  p.points =
      nestOf(host::dimsOf(y, 2, y.rank), host::dimsOf(grid, 1, grid.rank - 1));
  const int64_t count = y.numElements();
  return host::dispatch(host::FloatTypes(), x.element, kName, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return host::dispatch(
        host::FloatTypes(), grid.element, kName, [&](auto gridTag) {
          using G = typename decltype(gridTag)::Type;
          return count == 0 ? Status::ok()
                            : launch(sampleKernel<T, G>,
                                     {dim3(blocksFor(count))}, streamOf(call),
                                     y.as<T>(), x.as<T>(), grid.as<G>(), p);
        });
  });
}

const CudaKernelRegistration registration(kName, {run, nullptr});

} // namespace
} // namespace shardc::runtime::cuda
