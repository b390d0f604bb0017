//===- ConvWindows.cu - What a convolution reads, on a GPU ----------------===//
#include "runtime/device/cuda/kernels/image/ConvWindows.h"

#include "runtime/device/cuda/kernels/Launch.h"
#include "runtime/kernels/Dispatch.h"

namespace shardc::runtime::cuda {
namespace {

/// Strides from image to image, and from channel to channel.
struct ConvImages {
  int64_t group, channels;
  int64_t x[2];
};

/// One element of the unfolded images a thread.
template <typename T>
__global__ void
unfoldKernel(T *columns, const T *x, const __grid_constant__ host::ConvWindow w,
             ConvImages images, ConvTurn turn, int64_t taps, int64_t count) {
  const int64_t area = w.taps[1] * w.taps[2];
  for (int64_t i = firstElement(); i < count; i += allThreads()) {
    int64_t rest = i / turn.positions;
    int64_t position = turn.position + i - rest * turn.positions;
    const int64_t tap = rest % taps;
    rest /= taps;
    const int64_t channel = rest % images.channels;
    rest /= images.channels;
    const int64_t image = turn.image + rest % turn.images;
    const int64_t group = rest / turn.images;
    const int64_t ow = position % w.out[2];
    position /= w.out[2];
    int64_t d, h, column;
    const bool isInside =
        w.inputAt(0, position / w.out[1], tap / area, d) &
        w.inputAt(1, position % w.out[1], tap % area / w.taps[2], h) &
        w.inputAt(2, ow, tap % w.taps[2], column);
    columns[i] =
        isInside ? x[image * images.x[0] +
                     (group * images.channels + channel) * images.x[1] +
                     d * w.stride[0] + h * w.stride[1] + column * w.stride[2]]
                 : T(0);
  }
}

/// Strides of all dims.
struct DirectConv {
  ConvImages images;
  int64_t features, allFeatures; ///< of a group, of all
  int64_t w[2 + host::kConvDims], y[2 + host::kConvDims];
  int64_t bias;
};

template <typename T>
__global__ void directKernel(T *y, const T *x, const T *weights, const T *bias,
                             const __grid_constant__ host::ConvWindow w,
                             const __grid_constant__ DirectConv c,
                             int64_t count) {
  using Acc = host::Compute<T>;
  for (int64_t i = firstElement(); i < count; i += allThreads()) {
    int64_t rest = i;
    const int64_t ow = rest % w.out[2];
    rest /= w.out[2];
    const int64_t oh = rest % w.out[1];
    rest /= w.out[1];
    const int64_t od = rest % w.out[0];
    rest /= w.out[0];
    const int64_t feature = rest % c.allFeatures, image = rest / c.allFeatures;
    const T *from = x + image * c.images.x[0] +
                    feature / c.features * c.images.channels * c.images.x[1];
    const T *factors = weights + feature * c.w[0];
    Acc sum = 0;
    for (int64_t channel = 0; channel < c.images.channels; ++channel)
      for (int64_t td = 0; td < w.taps[0]; ++td)
        for (int64_t th = 0; th < w.taps[1]; ++th)
          for (int64_t tw = 0; tw < w.taps[2]; ++tw) {
            int64_t d, h, column;
            if (w.inputAt(0, od, td, d) && w.inputAt(1, oh, th, h) &&
                w.inputAt(2, ow, tw, column))
              sum += Acc(from[channel * c.images.x[1] + d * w.stride[0] +
                              h * w.stride[1] + column * w.stride[2]]) *
                     Acc(factors[channel * c.w[1] + td * c.w[2] + th * c.w[3] +
                                 tw * c.w[4]]);
          }
    if (bias)
      sum += Acc(bias[feature * c.bias]);
    y[image * c.y[0] + feature * c.y[1] + od * c.y[2] + oh * c.y[3] +
      ow * c.y[4]] = T(sum);
  }
}

/// With three spatial dims; those that are not there have size 1.
void copyStrides(const TensorView &view, int64_t (&to)[2 + host::kConvDims]) {
  const int missing = 2 + host::kConvDims - view.rank;
  for (int d = 0; d < 2 + host::kConvDims; ++d)
    to[d] = d < 2             ? view.strides[d]
            : d < 2 + missing ? 0
                              : view.strides[d - missing];
}

} // namespace

Status unfold(const host::Convolution &c, const ConvTurn &turn,
              std::byte *columns, cudaStream_t stream) {
  const ConvImages images = {
      c.group, c.channels, {c.x->strides[0], c.x->strides[1]}};
  const int64_t count =
      c.group * turn.images * c.channels * c.taps * turn.positions;
  if (count == 0)
    return Status::ok();
  return host::dispatchSize(c.x->element, "Conv", [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return launch(unfoldKernel<T>, {dim3(blocksFor(count))}, stream,
                  reinterpret_cast<T *>(columns), c.x->as<T>(), c.window,
                  images, turn, c.taps, count);
  });
}

Status convolveDirectly(const host::Convolution &c, cudaStream_t stream) {
  DirectConv direct = {
      {c.group, c.channels, {c.x->strides[0], c.x->strides[1]}},
      c.features,
      c.y->dims[1],
      {},
      {},
      c.bias ? c.bias->strides[0] : 0};
  copyStrides(*c.w, direct.w);
  copyStrides(*c.y, direct.y);
  const int64_t count = c.y->numElements();
  return host::dispatch(
      host::FloatTypes(), c.x->element, "Conv", [&](auto tag) {
        using T = typename decltype(tag)::Type;
        return count == 0
                   ? Status::ok()
                   : launch(directKernel<T>, {dim3(blocksFor(count))}, stream,
                            c.y->as<T>(), c.x->as<T>(), c.w->as<T>(),
                            c.bias ? c.bias->as<T>() : nullptr, c.window,
                            direct, count);
      });
}

} // namespace shardc::runtime::cuda
