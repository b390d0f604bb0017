//===- GridTaps.h - Elements of an image around a position ----------------===//
#ifndef SHARDC_RUNTIME_KERNELS_IMAGE_GRIDTAPS_H
#define SHARDC_RUNTIME_KERNELS_IMAGE_GRIDTAPS_H

#include "runtime/base/HostDevice.h"
#include "runtime/kernels/Check.h"

#include <algorithm>
#include <cmath>

namespace shardc::runtime::host {

inline constexpr int kMaxTaps = 4;

enum class Mode { Nearest, Linear, Cubic };
enum class Border { Zeros, Border, Reflection };

struct Sampler {
  Mode mode;
  Border border;
  bool alignCorners;
};

/// Elements of one dim, in elements of X from its first; none if it is zero.
template <typename P> struct Taps {
  int count = 0;
  int64_t offset[kMaxTaps];
  P weight[kMaxTaps];
};

template <typename P> SHARDC_HOST_DEVICE P reflect(P x, P least, P most) {
  const P range = most - least;
  if ((x >= least && x <= most) || !std::isfinite(x))
    return x;
  if (!(range > 0))
    return least;
  const P beyond = x < least ? least - x : x - most;
  const P turns = std::floor(beyond / range);
  const P rest = beyond - turns * range;
  const bool fromLeast = (x < least) == (std::fmod(turns, P(2)) == 0);
  return fromLeast ? least + rest : most - rest;
}

/// A dim of the image.
template <typename P> class Dimension {
public:
  SHARDC_HOST_DEVICE Dimension(const Sampler &sampler, int64_t size,
                               int64_t stride)
      : sampler(sampler), size(size), stride(stride),
        least(sampler.alignCorners ? P(0) : P(-0.5)),
        most(P(size) - (sampler.alignCorners ? P(1) : P(0.5))) {}

  SHARDC_HOST_DEVICE Taps<P> tapsAt(P normalized) const {
    P x = sampler.alignCorners ? (normalized + 1) / 2 * P(size - 1)
                               : ((normalized + 1) * P(size) - 1) / 2;
    if (sampler.mode == Mode::Nearest)
      x = std::nearbyint(x);
    if (x < least || x > most) {
      // Of a cubic each tap is clamped by itself, as PyTorch and ONNX Runtime
      // do; farther out than it reaches all are the same element.
      const P reach = sampler.mode == Mode::Cubic ? P(4) : P(0);
      if (sampler.border == Border::Border)
        x = std::clamp(x, -reach, P(size - 1) + reach);
      else if (sampler.border == Border::Reflection)
        x = reflect(x, least, most);
    }
    Taps<P> taps;
    if (!(std::fabs(x) < P(1e9))) // far outside, NaN too
      return taps;
    if (sampler.mode == Mode::Nearest) {
      add(taps, int64_t(x), 1);
      return taps;
    }
    const auto below = int64_t(std::floor(x));
    const P rest = x - P(below);
    if (sampler.mode == Mode::Linear) {
      add(taps, below, 1 - rest);
      add(taps, below + 1, rest);
      return taps;
    }
    for (int64_t i = -1; i <= 2; ++i)
      add(taps, below + i, cubic(rest - P(i)));
    return taps;
  }

private:
  SHARDC_HOST_DEVICE static P cubic(P distance) {
    constexpr P a = P(-0.75);
    const P x = std::fabs(distance);
    if (x <= 1)
      return ((a + 2) * x - (a + 3)) * x * x + 1;
    return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  }

  SHARDC_HOST_DEVICE void add(Taps<P> &taps, int64_t index, P weight) const {
    if (index < 0 || index >= size) {
      if (sampler.border == Border::Zeros)
        return;
      index = sampler.border == Border::Border
                  ? index
                  : int64_t(reflect(P(index), least, most));
      index = std::clamp<int64_t>(index, 0, size - 1);
    }
    taps.offset[taps.count] = index * stride;
    taps.weight[taps.count++] = weight;
  }

  const Sampler &sampler;
  int64_t size, stride;
  P least, most;
};

inline Status readSampler(const KernelCall &call, const char *kernel,
                          Sampler &sampler) {
  const KernelAttribute *mode = call.find("mode");
  const KernelAttribute *border = call.find("padding_mode");
  constexpr std::string_view modes[] = {"nearest", "linear", "cubic"};
  constexpr std::string_view borders[] = {"zeros", "border", "reflection"};
  const auto m = mode ? std::find(modes, modes + 3, mode->text) : modes + 3;
  const auto b =
      border ? std::find(borders, borders + 3, border->text) : borders + 3;
  if (m == modes + 3 || b == borders + 3)
    return failure(kernel, "unknown mode or padding_mode");
  sampler = {static_cast<Mode>(m - modes), static_cast<Border>(b - borders),
             call.intOr("align_corners", 0) != 0};
  return Status::ok();
}

/// Error: operands that do not fit each other.
inline Status readGrid(const KernelCall &call, const char *kernel,
                       Sampler &sampler) {
  SHARDC_RETURN_IF_ERROR(expectOperands(call, kernel, 2));
  const TensorView &x = call.inputs[0], &grid = call.inputs[1];
  const TensorView &y = call.outputs[0];
  SHARDC_RETURN_IF_ERROR(readSampler(call, kernel, sampler));
  bool fits = x.rank >= 3 && y.rank == x.rank && grid.rank == x.rank &&
              x.dims[0] == y.dims[0] && x.dims[1] == y.dims[1] &&
              x.dims[0] == grid.dims[0] &&
              grid.dims[grid.rank - 1] == x.rank - 2;
  for (int d = 2; fits && d < x.rank; ++d)
    fits = y.dims[d] == grid.dims[d - 1] && x.dims[d] > 0;
  if (!fits)
    return failure(kernel, "X " + dimsToString(x) + " does not fit the grid " +
                               dimsToString(grid));
  return expectElement(kernel, x.element, y);
}

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_IMAGE_GRIDTAPS_H
