//===- Pool.cu - Windows of an image that become one element --------------===//
//
// A thread a window; sums are of double, as the host's.
//
//===----------------------------------------------------------------------===//
#include "runtime/device/cuda/CudaKernels.h"
#include "runtime/device/cuda/kernels/CallStream.h"
#include "runtime/device/cuda/kernels/layout/Nest.h"
#include "runtime/kernels/Dispatch.h"
#include "runtime/kernels/StridedLoop.h"
#include "runtime/kernels/image/PoolWindow.h"

#include <cmath>

namespace shardc::runtime::cuda {
namespace {

struct Pooling {
  host::PoolWindow window;
  Nest<2> images;  ///< y and x, along images and channels
  Nest<1> windows; ///< y, along the windows of an image
  int64_t out[kMaxRank] = {};
  int64_t taps = 1; ///< of a window

  Status read(const KernelCall &call, const char *name) {
    SHARDC_RETURN_IF_ERROR(host::readPoolWindow(call, name, window));
    const TensorView &x = call.inputs[0], &y = call.outputs[0];
    images = nestOf(host::dimsOf(y, 0, 2), host::dimsOf(x, 0, 2));
    windows = nestOf(host::dimsOf(y, 2, y.rank));
    for (int d = 0; d < window.spatial; ++d) {
      out[d] = y.dims[d + 2];
      taps *= window.taps[d];
      window.place[d] = 0; // where nobody asks for it
    }
    return Status::ok();
  }
  int64_t count() const { return images.count * windows.count; }
  Grid grid() const { return {dim3(blocksFor(count()))}; }

  /// Calls visit(offset, place) for each tap of a window inside of the image
  /// and returns how many lie in image or padding.
  template <typename Visit>
  __device__ int64_t forEachTap(int64_t index, Visit visit) const {
    const host::PoolWindow &w = window;
    int64_t padded = 0;
    for (int64_t t = 0; t < taps; ++t) {
      int64_t tap = t, rest = index, offset = 0, place = 0;
      bool isPadded = true, isInside = true;
      for (int d = w.spatial - 1; d >= 0; --d) {
        const int64_t at = rest % out[d] * w.step[d] - w.before[d] +
                           tap % w.taps[d] * w.dilation[d];
        rest /= out[d];
        tap /= w.taps[d];
        isPadded &= at >= -w.before[d] && at < w.in[d] + w.after[d];
        isInside &= at >= 0 && at < w.in[d];
        offset += at * w.stride[d];
        place += at * w.place[d];
      }
      padded += isPadded;
      if (isInside)
        visit(offset, place);
    }
    return padded;
  }
};

/// Calls pool(image's number, X from its image on, index of the window) and
/// stores what it gives, for each window of this thread.
template <typename T, typename Pool>
__device__ void poolWindows(const Pooling &p, T *y, const T *x, Pool pool) {
  for (int64_t i = firstElement(); i < p.images.count * p.windows.count;
       i += allThreads()) {
    const int64_t image = i / p.windows.count;
    const int64_t index = i - image * p.windows.count;
    int64_t atImage[2], at[1];
    p.images.offsets(image, atImage);
    p.windows.offsets(index, at);
    y[atImage[0] + at[0]] = pool(image, x + atImage[1], index);
  }
}

template <typename T>
__global__ void averageKernel(const __grid_constant__ Pooling p, T *y,
                              const T *x, bool countsPads) {
  using C = host::Compute<T>;
  poolWindows(p, y, x, [&](int64_t, const T *image, int64_t index) {
    double sum = 0;
    int64_t inside = 0;
    const int64_t padded = p.forEachTap(index, [&](int64_t at, int64_t) {
      sum += double(C(image[at]));
      ++inside;
    });
    const int64_t count = countsPads ? padded : inside;
    return T(C(sum / double(count > 0 ? count : 1)));
  });
}

template <typename T>
__global__ void normKernel(const __grid_constant__ Pooling p, T *y, const T *x,
                           double power) {
  using C = host::Compute<T>;
  poolWindows(p, y, x, [&](int64_t, const T *image, int64_t index) {
    double sum = 0;
    p.forEachTap(index, [&](int64_t at, int64_t) {
      sum += std::pow(std::fabs(double(C(image[at]))), power);
    });
    return T(C(std::pow(sum, 1 / power)));
  });
}

/// `places` may be null.
template <typename T>
__global__ void maximumKernel(const __grid_constant__ Pooling p, T *y,
                              const T *x, int64_t *places, int64_t imageSize) {
  using C = host::Compute<T>;
  poolWindows(p, y, x, [&](int64_t number, const T *image, int64_t index) {
    C largest = host::least<C>();
    int64_t found = -1;
    p.forEachTap(index, [&](int64_t at, int64_t place) {
      const C value(image[at]);
      const bool wins = found < 0 || value > largest || value != value;
      largest = wins ? value : largest;
      found = wins ? place : found;
    });
    if (places)
      places[number * p.windows.count + index] = number * imageSize + found;
    return T(largest);
  });
}

template <typename Launch>
Status forFloats(const KernelCall &call, const char *name, const Pooling &p,
                 Launch launch) {
  return host::dispatch(
      host::FloatTypes(), call.inputs[0].element, name, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        return p.count() == 0
                   ? Status::ok()
                   : launch(call.outputs[0].as<T>(), call.inputs[0].as<T>());
      });
}

Status runAveragePool(const KernelCall &call) {
  constexpr char name[] = "AveragePool";
  Pooling p;
  SHARDC_RETURN_IF_ERROR(p.read(call, name));
  const bool countsPads = call.intOr("count_include_pad", 0) != 0;
  return forFloats(call, name, p, [&](auto *y, const auto *x) {
    using T = std::remove_reference_t<decltype(*y)>;
    return launch(averageKernel<T>, p.grid(), streamOf(call), p, y, x,
                  countsPads);
  });
}

Status runLpPool(const KernelCall &call) {
  constexpr char name[] = "LpPool";
  Pooling p;
  SHARDC_RETURN_IF_ERROR(p.read(call, name));
  const double power = double(call.intOr("p", 2));
  return forFloats(call, name, p, [&](auto *y, const auto *x) {
    using T = std::remove_reference_t<decltype(*y)>;
    return launch(normKernel<T>, p.grid(), streamOf(call), p, y, x, power);
  });
}

Status runMaxPool(const KernelCall &call) {
  constexpr char name[] = "MaxPool";
  using Types =
      decltype(host::FloatTypes() + host::TypeList<int8_t, uint8_t>());
  Pooling p;
  SHARDC_RETURN_IF_ERROR(p.read(call, name));
  SHARDC_RETURN_IF_ERROR(host::expectPlaces(call, name));
  const int64_t imageSize = host::orderPlaces(call, p.window);
  int64_t *places =
      host::hasOutput(call, 1) ? call.outputs[1].as<int64_t>() : nullptr;
  return host::dispatch(Types(), call.inputs[0].element, name, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return p.count() == 0 ? Status::ok()
                          : launch(maximumKernel<T>, p.grid(), streamOf(call),
                                   p, call.outputs[0].as<T>(),
                                   call.inputs[0].as<T>(), places, imageSize);
  });
}

const CudaKernelRegistration registrations[] = {
    {"AveragePool", {runAveragePool, nullptr}},
    {"LpPool", {runLpPool, nullptr}},
    {"MaxPool", {runMaxPool, nullptr}},
};

} // namespace
} // namespace shardc::runtime::cuda
