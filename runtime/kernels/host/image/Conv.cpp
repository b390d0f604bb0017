//===- Conv.cpp - Convolution in 1 to 3 spatial dims ----------------------===//
//
// X [n, c, spatial...], W [m, c / group, kernel...], bias [m] -> Y. Each image
// and group is unfolded (im2col: one row per channel and tap, one column per
// output position) and multiplied by W. Fewer than 3 spatial dims are leading
// dims of size 1.
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/Dispatch.h"
#include "runtime/kernels/host/ThreadedLoop.h"
#include "runtime/kernels/host/product/MatrixProduct.h"
#include "runtime/kernels/image/Convolution.h"
#include "runtime/kernels/image/PoolWindow.h"

namespace shardc::runtime::host {
namespace {

constexpr char kName[] = "Conv";

/// Calls visit(offset of the result, offset in X, step in X, count) for what
/// output positions that lie in one line read at a tap, where that is inside.
template <typename Visit>
void forEachRun(const ConvWindow &w, const int64_t (&tap)[kConvDims],
                Visit visit) {
  const int64_t width = w.out[2];
  const int64_t behind = tap[2] * w.dilation[2] - w.before[2];
  const WindowRange range(0, width, behind, w.step[2], w.in[2]);
  int64_t d, h, row = 0;
  for (int64_t od = 0; od < w.out[0]; ++od)
    for (int64_t oh = 0; oh < w.out[1]; ++oh, row += width)
      if (range.begin < range.end && w.inputAt(0, od, tap[0], d) &&
          w.inputAt(1, oh, tap[1], h))
        visit(row + range.begin,
              d * w.stride[0] + h * w.stride[1] +
                  (range.begin * w.step[2] + behind) * w.stride[2],
              w.step[2] * w.stride[2], range.end - range.begin);
}

/// One row of the unfolded image: what every output position reads at a tap.
template <typename T, typename Acc>
void unfoldTap(const ConvWindow &w, const T *x, const int64_t (&tap)[kConvDims],
               Acc *row) {
  const int64_t size = w.out[0] * w.out[1] * w.out[2];
  int64_t done = 0;
  forEachRun(w, tap,
             [&](int64_t at, int64_t from, int64_t step, int64_t count) {
               std::fill(row + done, row + at, Acc(0));
               done = at + count;
               if (step == 1)
                 for (int64_t i = 0; i < count; ++i)
                   row[at + i] = Acc(Compute<T>(x[from + i]));
               else
                 for (int64_t i = 0; i < count; ++i)
                   row[at + i] = Acc(Compute<T>(x[from + i * step]));
             });
  std::fill(row + done, row + size, Acc(0));
}

template <typename T, typename Acc>
void unfold(const Convolution &c, const T *x, Acc *columns) {
  const ConvWindow &w = c.window;
  const int64_t threads =
      threadsFor(c.channels, c.channels * c.taps * c.positions);
  shareRanges(
      c.channels, threads, /*least=*/1, [&](int64_t channel, int64_t end) {
        Acc *row = columns + channel * c.taps * c.positions;
        for (; channel < end; ++channel)
          for (int64_t d = 0; d < w.taps[0]; ++d)
            for (int64_t h = 0; h < w.taps[1]; ++h)
              for (int64_t k = 0; k < w.taps[2]; ++k, row += c.positions)
                unfoldTap(w, x + channel * c.x->strides[1], {d, h, k}, row);
      });
}

/// W of a group: in place if its rows are dense, else packed.
template <typename T, typename Acc>
Matrix<Acc> weightsOf(const Convolution &c, const T *w, Acc *packed) {
  const auto row = nestOf(dimsOf(*c.w, 1, c.w->rank));
  const int64_t columns = c.channels * c.taps;
  if (row.rank == 1)
    return asMatrix({c.features, columns, c.w->strides[0], row.innerStride(0)},
                    w, packed);
  Acc *to = packed;
  for (int64_t m = 0; m < c.features; ++m)
    forEachIndex(row, [&](const int64_t (&at)[1]) {
      *to++ = Acc(Compute<T>(w[m * c.w->strides[0] + at[0]]));
    });
  return {packed, std::max<int64_t>(columns, 1), false};
}

template <typename T, typename Acc>
void writeGroup(const Convolution &c, const T *bias, const Acc *from, T *to) {
  const auto image = nestOf(dimsOf(*c.y, 2, c.y->rank));
  for (int64_t m = 0; m < c.features; ++m) {
    const Acc offset =
        bias ? Acc(Compute<T>(bias[m * c.bias->strides[0]])) : Acc(0);
    T *target = to + m * c.y->strides[1];
    const int64_t step = image.innerStride(0);
    forEachRow(image, [&](const int64_t (&at)[1], int64_t count) {
      T *row = target + at[0];
      if (step == 1)
        for (int64_t i = 0; i < count; ++i)
          row[i] = T(Compute<T>(from[i] + offset));
      else
        for (int64_t i = 0; i < count; ++i)
          row[i * step] = T(Compute<T>(from[i] + offset));
      from += count;
    });
  }
}

/// A few features of a group, without the unfolded image: the sums of a feature
/// stay in the cache while taps go by.
template <typename T, typename Acc>
void convolveDirectly(const Convolution &c, const T *x, const T *weights,
                      Acc *result) {
  const ConvWindow &w = c.window;
  std::fill(result, result + c.features * c.positions, Acc(0));
  for (int64_t m = 0; m < c.features; ++m, result += c.positions)
    for (int64_t channel = 0; channel < c.channels; ++channel) {
      const T *image = x + channel * c.x->strides[1];
      const T *factors =
          weights + m * c.w->strides[0] + channel * c.w->strides[1];
      int64_t tap[kConvDims];
      for (tap[0] = 0; tap[0] < w.taps[0]; ++tap[0])
        for (tap[1] = 0; tap[1] < w.taps[1]; ++tap[1])
          for (tap[2] = 0; tap[2] < w.taps[2]; ++tap[2]) {
            int64_t at = 0;
            for (int d = kConvDims - (c.w->rank - 2); d < kConvDims; ++d)
              at += tap[d] * c.w->strides[d + c.w->rank - kConvDims];
            const auto factor = Acc(Compute<T>(factors[at]));
            forEachRun(
                w, tap,
                [&](int64_t to, int64_t from, int64_t step, int64_t count) {
                  Acc *sums = result + to;
                  if (step == 1)
                    for (int64_t i = 0; i < count; ++i)
                      sums[i] += factor * Acc(Compute<T>(image[from + i]));
                  else
                    for (int64_t i = 0; i < count; ++i)
                      sums[i] +=
                          factor * Acc(Compute<T>(image[from + i * step]));
                });
          }
    }
}

/// Whether sums of few features cost less than to unfold the image for them, of
/// enough groups that threads share these out.
bool isDirect(const Convolution &c, SumOrder order) {
  constexpr int64_t kFewFeatures = 2, kManyGroups = 8;
  return order == SumOrder::Fastest && c.features <= kFewFeatures &&
         c.group * c.x->dims[0] >= kManyGroups;
}

/// Images and groups that are computed at the same time: where there are few
/// their products are shared out instead.
int64_t threadsOf(const Convolution &c) {
  const int64_t units = c.group * c.x->dims[0];
  if (units < 2 * kernelThreads())
    return 1;
  const int64_t products = c.features * c.channels * c.taps * c.positions;
  return threadsFor(units, units * (products / 8 + c.features * c.positions));
}

/// Scratch of a thread, in elements: weights of a group, unfolded image, result.
int64_t scratchElements(const Convolution &c) {
  const int64_t rows = c.channels * c.taps;
  return c.features * rows + rows * c.positions + c.features * c.positions;
}

/// Group g of image n.
template <typename T>
Status convolveOne(const Convolution &c, int64_t g, int64_t n, SumOrder order,
                   Accumulator<T> *scratch) {
  using Acc = Accumulator<T>;
  const int64_t rows = c.channels * c.taps, feature = g * c.features;
  Acc *columns = scratch + c.features * rows;
  Acc *result = columns + rows * c.positions;
  const int64_t width = std::max<int64_t>(c.positions, 1);
  const T *x =
      c.x->as<T>() + n * c.x->strides[0] + g * c.channels * c.x->strides[1];
  const T *weights = c.w->as<T>() + feature * c.w->strides[0];
  if (isDirect(c, order)) {
    convolveDirectly(c, x, weights, result);
  } else {
    unfold(c, x, columns);
    SHARDC_RETURN_IF_ERROR(multiply(
        c.features, c.positions, rows, Acc(1), weightsOf(c, weights, scratch),
        Matrix<Acc>{columns, width, false}, Acc(0), result, width, order));
  }
  writeGroup(
      c, c.bias ? c.bias->as<T>() + feature * c.bias->strides[0] : nullptr,
      result, c.y->as<T>() + n * c.y->strides[0] + feature * c.y->strides[1]);
  return Status::ok();
}

template <typename T>
Status convolve(const Convolution &c, SumOrder order, std::byte *scratch) {
  using Acc = Accumulator<T>;
  return shareOut(
      c.group * c.x->dims[0], threadsOf(c),
      evenChunk(c.group * c.x->dims[0], threadsOf(c)),
      [&](int64_t thread) {
        return reinterpret_cast<Acc *>(scratch) + thread * scratchElements(c);
      },
      [&](Acc *own, int64_t unit) {
        return convolveOne<T>(c, unit / c.x->dims[0], unit % c.x->dims[0],
                              order, own);
      });
}

Status run(const KernelCall &call) {
  Convolution c;
  SHARDC_RETURN_IF_ERROR(c.read(call, kName));
  return dispatch(FloatTypes(), c.x->element, kName, [&](auto tag) {
    return convolve<typename decltype(tag)::Type>(c, sumOrderOf(call),
                                                  call.scratch);
  });
}

int64_t scratchBytes(const KernelCall &call) {
  Convolution c;
  if (!c.read(call, kName).isOk())
    return 0; // run reports it
  const bool isDouble = c.x->element == artifact::ElementType_Float64;
  return threadsOf(c) * scratchElements(c) * (isDouble ? 8 : 4);
}

const HostKernelRegistration registration(kName, {run, scratchBytes});

} // namespace
} // namespace shardc::runtime::host
