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

namespace shardc::runtime::host {
namespace {

constexpr char kName[] = "Conv";

/// One row of the unfolded image: what every output position reads at a tap.
template <typename T, typename Acc>
void unfoldTap(const ConvWindow &w, const T *x, const int64_t (&tap)[kConvDims],
               Acc *row) {
  const int64_t width = w.out[2];
  int64_t d, h, column;
  for (int64_t od = 0; od < w.out[0]; ++od)
    for (int64_t oh = 0; oh < w.out[1]; ++oh, row += width) {
      if (!w.inputAt(0, od, tap[0], d) || !w.inputAt(1, oh, tap[1], h)) {
        std::fill(row, row + width, Acc(0));
        continue;
      }
      const T *line = x + d * w.stride[0] + h * w.stride[1];
      for (int64_t ow = 0; ow < width; ++ow)
        row[ow] = w.inputAt(2, ow, tap[2], column)
                      ? Acc(Compute<T>(line[column * w.stride[2]]))
                      : Acc(0);
    }
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
    forEachIndex(image, [&](const int64_t (&at)[1]) {
      target[at[0]] = T(Compute<T>(*from++ + offset));
    });
  }
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
  unfold(c,
         c.x->as<T>() + n * c.x->strides[0] + g * c.channels * c.x->strides[1],
         columns);
  SHARDC_RETURN_IF_ERROR(multiply(
      c.features, c.positions, rows, Acc(1),
      weightsOf(c, c.w->as<T>() + feature * c.w->strides[0], scratch),
      Matrix<Acc>{columns, width, false}, Acc(0), result, width, order));
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
