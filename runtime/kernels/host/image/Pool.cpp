//===- Pool.cpp - Windows of an image that become one element -------------===//
//
// X [n, c, spatial...] -> Y [n, c, windows...]. A window skips what lies in the
// padding. Attributes kernel_shape, strides, dilations and pads (begins, then
// ends) have an entry, or two, for each spatial dim.
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/Dispatch.h"
#include "runtime/kernels/StridedLoop.h"
#include "runtime/kernels/host/KernelThreads.h"
#include "runtime/kernels/image/PoolWindow.h"

#include <cmath>

namespace shardc::runtime::host {
namespace {

/// Calls visit(offset, place) for each tap inside of the image.
template <typename Visit>
void forEachTap(const PoolWindow &w, const int64_t *corner, int d,
                int64_t offset, int64_t place, Visit visit) {
  if (d == w.spatial || d == kMaxRank) // the compiler does not know the latter
    return visit(offset, place);
  for (int64_t tap = 0; tap < w.taps[d]; ++tap) {
    const int64_t at = corner[d] + tap * w.dilation[d];
    if (at >= 0 && at < w.in[d])
      forEachTap(w, corner, d + 1, offset + at * w.stride[d],
                 place + at * w.place[d], visit);
  }
}

/// Calls visit(offset) for each line of the image, along its last dim, that
/// windows at `corner` have elements of.
template <typename Visit>
void forEachLine(const PoolWindow &w, const int64_t *corner, int d,
                 int64_t offset, Visit visit) {
  if (d == w.spatial - 1 || d == kMaxRank)
    return visit(offset);
  for (int64_t tap = 0; tap < w.taps[d]; ++tap) {
    const int64_t at = corner[d] + tap * w.dilation[d];
    if (at >= 0 && at < w.in[d])
      forEachLine(w, corner, d + 1, offset + at * w.stride[d], visit);
  }
}

/// How many taps of a window lie in the image, or in it and its padding.
int64_t tapsIn(const PoolWindow &w, int d, int64_t corner, bool withPads) {
  int64_t count = 0;
  for (int64_t tap = 0; tap < w.taps[d]; ++tap) {
    const int64_t at = corner + tap * w.dilation[d];
    count += withPads ? at >= -w.before[d] && at < w.in[d] + w.after[d]
                      : at >= 0 && at < w.in[d];
  }
  return count;
}

/// Where the windows with number `i` of all, or of all lines, begin; the offset
/// of their results. Dims from `dims` on are not counted.
int64_t cornerOf(const PoolWindow &w, const TensorView &windows, int dims,
                 int64_t i, int64_t *corner) {
  int64_t offset = 0;
  for (int d = dims - 1; d >= 0; --d) {
    const int64_t index = i % windows.dims[d];
    i /= windows.dims[d];
    corner[d] = index * w.step[d] - w.before[d];
    offset += index * windows.strides[d];
  }
  return offset;
}

/// Calls pool(n * channels + c, offsets in X and Y) on the rank's threads.
template <typename PoolImage>
void forEachImage(const PoolWindow &w, const TensorView &x, const TensorView &y,
                  PoolImage pool) {
  int64_t taps = y.numElements();
  for (int d = 0; d < w.spatial; ++d)
    taps *= w.taps[d];
  const int64_t images = y.dims[0] * y.dims[1];
  shareRanges(images, threadsFor(images, taps), /*least=*/1,
              [&](int64_t i, int64_t end) {
                for (; i < end; ++i) {
                  const int64_t n = i / y.dims[1], c = i % y.dims[1];
                  pool(i, n * x.strides[0] + c * x.strides[1],
                       n * y.strides[0] + c * y.strides[1]);
                }
              });
}

/// What becomes of windows: `Sum` for each is `start`, then add(sum, element)
/// for each of their elements, and finish(sum, taps inside, taps inside or in
/// the padding) is the result. Windows of a line are walked tap by tap.
template <typename T, typename Sum, typename Add, typename Finish>
void poolLines(const PoolWindow &w, const TensorView &x, const TensorView &y,
               Sum start, Add add, Finish finish) {
  constexpr int64_t kMost = 256;
  const TensorView windows = dimsOf(y, 2, y.rank);
  const int last = w.spatial - 1;
  const int64_t width = windows.dims[last];
  const int64_t lines = width > 0 ? windows.numElements() / width : 0;
  const auto poolSome = [&](const T *image, T *line, int64_t *corner,
                            int64_t first, int64_t count) {
    Sum sums[kMost];
    std::fill_n(sums, count, start);
    forEachLine(w, corner, 0, 0, [&](int64_t offset) {
      for (int64_t tap = 0; tap < w.taps[last]; ++tap) {
        const int64_t behind = tap * w.dilation[last] - w.before[last];
        const WindowRange range(first, count, behind, w.step[last], w.in[last]);
        const T *from = image + offset + behind * w.stride[last];
        const int64_t step = w.step[last] * w.stride[last];
        for (int64_t o = range.begin; o < range.end; ++o)
          add(sums[o - first], Compute<T>(from[o * step]));
      }
    });
    int64_t outer[2] = {1, 1};
    for (int d = 0; d < last; ++d)
      for (bool pads : {false, true})
        outer[pads] *= tapsIn(w, d, corner[d], pads);
    for (int64_t o = first; o < first + count; ++o) {
      const int64_t at = o * w.step[last] - w.before[last];
      line[o * windows.strides[last]] =
          T(finish(sums[o - first], outer[0] * tapsIn(w, last, at, false),
                   outer[1] * tapsIn(w, last, at, true)));
    }
  };
  forEachImage(w, x, y, [&](int64_t, int64_t fromX, int64_t toY) {
    int64_t corner[kMaxRank];
    for (int64_t i = 0; i < lines; ++i) {
      T *line = y.as<T>() + toY + cornerOf(w, windows, last, i, corner);
      for (int64_t first = 0; first < width; first += kMost)
        poolSome(x.as<T>() + fromX, line, corner, first,
                 std::min(kMost, width - first));
    }
  });
}

Status runAveragePool(const KernelCall &call) {
  constexpr char name[] = "AveragePool";
  PoolWindow w;
  SHARDC_RETURN_IF_ERROR(readPoolWindow(call, name, w));
  const bool countsPads = call.intOr("count_include_pad", 0) != 0;
  const TensorView &x = call.inputs[0], &y = call.outputs[0];
  return dispatch(FloatTypes(), x.element, name, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    poolLines<T>(
        w, x, y, 0.0, [](double &sum, Compute<T> v) { sum += double(v); },
        [&](double sum, int64_t inside, int64_t padded) {
          const int64_t count = countsPads ? padded : inside;
          return Compute<T>(sum / double(count > 0 ? count : 1));
        });
  });
}

Status runLpPool(const KernelCall &call) {
  constexpr char name[] = "LpPool";
  PoolWindow w;
  SHARDC_RETURN_IF_ERROR(readPoolWindow(call, name, w));
  const double p = double(call.intOr("p", 2));
  const TensorView &x = call.inputs[0], &y = call.outputs[0];
  return dispatch(FloatTypes(), x.element, name, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    poolLines<T>(
        w, x, y, 0.0,
        [p](double &sum, Compute<T> v) {
          sum += std::pow(std::fabs(double(v)), p);
        },
        [p](double sum, int64_t, int64_t) {
          return Compute<T>(std::pow(sum, 1 / p));
        });
  });
}

/// With the places of the maxima.
template <typename T>
void findMaxima(const PoolWindow &w, const KernelCall &call,
                int64_t imageSize) {
  using C = Compute<T>;
  const TensorView &x = call.inputs[0], &y = call.outputs[0];
  int64_t *places = call.outputs[1].as<int64_t>();
  const TensorView windows = dimsOf(y, 2, y.rank);
  const int64_t count = windows.numElements();
  forEachImage(w, x, y, [&](int64_t image, int64_t fromX, int64_t toY) {
    const T *from = x.as<T>() + fromX;
    for (int64_t i = 0; i < count; ++i) {
      int64_t corner[kMaxRank];
      const int64_t to = toY + cornerOf(w, windows, w.spatial, i, corner);
      C largest = least<C>();
      int64_t found = -1;
      forEachTap(w, corner, 0, 0, 0, [&](int64_t at, int64_t place) {
        const C value(from[at]);
        const bool wins = found < 0 || value > largest || value != value;
        largest = wins ? value : largest;
        found = wins ? place : found;
      });
      y.as<T>()[to] = T(largest);
      places[to] = image * imageSize + found;
    }
  });
}

template <typename T>
void maxPool(const PoolWindow &w, const KernelCall &call, int64_t imageSize) {
  using C = Compute<T>;
  if (hasOutput(call, 1))
    return findMaxima<T>(w, call, imageSize);
  poolLines<T>(
      w, call.inputs[0], call.outputs[0], least<C>(),
      [](C &largest, C value) {
        largest = value > largest || value != value ? value : largest;
      },
      [](C largest, int64_t, int64_t) { return largest; });
}

Status runMaxPool(const KernelCall &call) {
  constexpr char name[] = "MaxPool";
  using Types = decltype(FloatTypes() + TypeList<int8_t, uint8_t>());
  PoolWindow w;
  SHARDC_RETURN_IF_ERROR(readPoolWindow(call, name, w));
  SHARDC_RETURN_IF_ERROR(expectPlaces(call, name));
  const int64_t imageSize = orderPlaces(call, w);
  return dispatch(Types(), call.inputs[0].element, name, [&](auto tag) {
    maxPool<typename decltype(tag)::Type>(w, call, imageSize);
  });
}

const HostKernelRegistration registrations[] = {
    {"AveragePool", {runAveragePool, nullptr}},
    {"LpPool", {runLpPool, nullptr}},
    {"MaxPool", {runMaxPool, nullptr}},
};

} // namespace
} // namespace shardc::runtime::host
