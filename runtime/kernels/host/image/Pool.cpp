//===- Pool.cpp - Windows of an image that become one element -------------===//
//
// X [n, c, spatial...] -> Y [n, c, windows...]. A window skips what lies in the
// padding. Attributes kernel_shape, strides, dilations and pads (begins, then
// ends) have an entry, or two, for each spatial dim.
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/Dispatch.h"
#include "runtime/kernels/StridedLoop.h"
#include "runtime/kernels/image/PoolWindow.h"

#include <cmath>

namespace shardc::runtime::host {
namespace {

/// Calls visit(offset, place) for each tap inside of the image and returns how
/// many taps lie in image or padding.
template <typename Visit>
int64_t forEachTap(const PoolWindow &w, const int64_t *corner, int d,
                   int64_t offset, int64_t place, bool isInside, Visit visit) {
  if (d == w.spatial) {
    if (isInside)
      visit(offset, place);
    return 1;
  }
  int64_t padded = 0;
  for (int64_t tap = 0; tap < w.taps[d]; ++tap) {
    const int64_t at = corner[d] + tap * w.dilation[d];
    if (at < -w.before[d] || at >= w.in[d] + w.after[d])
      continue;
    const bool inside = isInside && at >= 0 && at < w.in[d];
    padded += forEachTap(w, corner, d + 1, offset + at * w.stride[d],
                         place + at * w.place[d], inside, visit);
  }
  return padded;
}

/// Calls pool(n * channels + c, image, y, corner of the window) for each y.
template <typename T, typename PoolOne>
void forEachWindow(const PoolWindow &w, const TensorView &x,
                   const TensorView &y, PoolOne pool) {
  const auto images = nestOf(dimsOf(y, 0, 2), dimsOf(x, 0, 2));
  const TensorView windows = dimsOf(y, 2, y.rank);
  const int64_t count = windows.numElements();
  int64_t image = 0;
  forEachIndex(images, [&](const int64_t (&at)[2]) {
    for (int64_t i = 0; i < count; ++i) {
      int64_t corner[kMaxRank], rest = i, offset = at[0];
      for (int d = w.spatial - 1; d >= 0; --d) {
        const int64_t index = rest % windows.dims[d];
        rest /= windows.dims[d];
        corner[d] = index * w.step[d] - w.before[d];
        offset += index * windows.strides[d];
      }
      pool(image, x.as<T>() + at[1], offset, corner);
    }
    ++image;
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
    forEachWindow<T>(
        w, x, y,
        [&](int64_t, const T *image, int64_t to, const int64_t *corner) {
          double sum = 0;
          int64_t inside = 0;
          const int64_t padded =
              forEachTap(w, corner, 0, 0, 0, true, [&](int64_t at, int64_t) {
                sum += double(Compute<T>(image[at]));
                ++inside;
              });
          const int64_t count = countsPads ? padded : inside;
          y.as<T>()[to] = T(Compute<T>(sum / double(count > 0 ? count : 1)));
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
    forEachWindow<T>(
        w, x, y,
        [&](int64_t, const T *image, int64_t to, const int64_t *corner) {
          double sum = 0;
          forEachTap(w, corner, 0, 0, 0, true, [&](int64_t at, int64_t) {
            sum += std::pow(std::fabs(double(Compute<T>(image[at]))), p);
          });
          y.as<T>()[to] = T(Compute<T>(std::pow(sum, 1 / p)));
        });
  });
}

template <typename T>
void maxPool(const PoolWindow &w, const KernelCall &call, int64_t imageSize) {
  using C = Compute<T>;
  const TensorView &x = call.inputs[0], &y = call.outputs[0];
  int64_t *places =
      hasOutput(call, 1) ? call.outputs[1].as<int64_t>() : nullptr;
  forEachWindow<T>(
      w, x, y,
      [&](int64_t image, const T *from, int64_t to, const int64_t *corner) {
        C largest = least<C>();
        int64_t found = -1;
        forEachTap(w, corner, 0, 0, 0, true, [&](int64_t at, int64_t place) {
          const C value(from[at]);
          const bool wins = found < 0 || value > largest || value != value;
          largest = wins ? value : largest;
          found = wins ? place : found;
        });
        y.as<T>()[to] = T(largest);
        if (places)
          places[to] = image * imageSize + found;
      });
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
