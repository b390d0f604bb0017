//===- GridSample.cpp - An image at the positions of a grid ---------------===//
//
// X [n, c, image...], grid [n, points..., d] -> Y [n, c, points...]. A position
// counts its dims from the last one of the image, from -1 to 1 over an image.
// Per dim it becomes some taps, elements with weights; Y is the sum over all
// combinations of them. Positions are computed in the grid's type P, but in
// float at least.
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/Dispatch.h"
#include "runtime/kernels/StridedLoop.h"
#include "runtime/kernels/image/GridTaps.h"

namespace shardc::runtime::host {
namespace {

constexpr char kName[] = "GridSample";
template <typename T, typename P>
double sumTaps(const T *x, const Taps<P> *taps, int dims) {
  if (dims == 0)
    return double(Compute<T>(*x));
  double sum = 0;
  for (int i = 0; i < taps->count; ++i)
    sum += double(taps->weight[i]) *
           sumTaps(x + taps->offset[i], taps + 1, dims - 1);
  return sum;
}

template <typename T, typename G>
void sample(const Sampler &sampler, const TensorView &x, const TensorView &grid,
            const TensorView &y) {
  using P = Compute<G>;
  const int spatial = x.rank - 2;
  const int64_t last = grid.strides[grid.rank - 1];
  const auto points =
      nestOf(dimsOf(y, 2, y.rank), dimsOf(grid, 1, grid.rank - 1));
  for (int64_t n = 0; n < x.dims[0]; ++n)
    forEachIndex(points, [&](const int64_t (&at)[2]) {
      const G *position = grid.as<G>() + n * grid.strides[0] + at[1];
      Taps<P> taps[kMaxRank];
      for (int d = 0; d < spatial; ++d)
        taps[d] = Dimension<P>(sampler, x.dims[d + 2], x.strides[d + 2])
                      .tapsAt(P(position[(spatial - 1 - d) * last]));
      for (int64_t c = 0; c < x.dims[1]; ++c)
        y.as<T>()[n * y.strides[0] + c * y.strides[1] + at[0]] = T(
            Compute<T>(sumTaps(x.as<T>() + n * x.strides[0] + c * x.strides[1],
                               taps, spatial)));
    });
}

Status run(const KernelCall &call) {
  Sampler sampler;
  SHARDC_RETURN_IF_ERROR(readGrid(call, kName, sampler));
  const TensorView &x = call.inputs[0], &grid = call.inputs[1];
  const TensorView &y = call.outputs[0];
  return dispatch(FloatTypes(), x.element, kName, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return dispatch(FloatTypes(), grid.element, kName, [&](auto gridTag) {
      sample<T, typename decltype(gridTag)::Type>(sampler, x, grid, y);
    });
  });
}

const HostKernelRegistration registration(kName, {run, nullptr});

} // namespace
} // namespace shardc::runtime::host
