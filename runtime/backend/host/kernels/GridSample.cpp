//===- GridSample.cpp - An image at the positions of a grid ---------------===//
//
// X [n, c, image...], grid [n, points..., d] -> Y [n, c, points...]. A position
// counts its dims from the last one of the image, from -1 to 1 over an image.
// Per dim it becomes some taps, elements with weights; Y is the sum over all
// combinations of them. Positions are computed in the grid's type P, but in
// float at least.
//
//===----------------------------------------------------------------------===//

#include "runtime/backend/host/kernels/Dispatch.h"
#include "runtime/backend/host/kernels/StridedLoop.h"

#include <algorithm>
#include <cmath>

namespace shardc::runtime::host {
namespace {

constexpr char kName[] = "GridSample";
constexpr int kMaxTaps = 4;

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

template <typename P> P reflect(P x, P least, P most) {
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

template <typename P> class Dimension {
public:
  Dimension(const Sampler &sampler, int64_t size, int64_t stride)
      : sampler(sampler), size(size), stride(stride),
        least(sampler.alignCorners ? P(0) : P(-0.5)),
        most(P(size) - (sampler.alignCorners ? P(1) : P(0.5))) {}

  Taps<P> tapsAt(P normalized) const {
    P x = sampler.alignCorners ? (normalized + 1) / 2 * P(size - 1)
                               : ((normalized + 1) * P(size) - 1) / 2;
    if (sampler.mode == Mode::Nearest)
      x = std::nearbyint(x);
    if (x < least || x > most) {
      if (sampler.border == Border::Border)
        x = std::clamp(x, P(0), P(size - 1));
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
  static P cubic(P distance) {
    constexpr P a = P(-0.75);
    const P x = std::fabs(distance);
    if (x <= 1)
      return ((a + 2) * x - (a + 3)) * x * x + 1;
    return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  }

  void add(Taps<P> &taps, int64_t index, P weight) const {
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

Status readSampler(const KernelCall &call, Sampler &sampler) {
  const KernelAttribute *mode = call.find("mode");
  const KernelAttribute *border = call.find("padding_mode");
  constexpr std::string_view modes[] = {"nearest", "linear", "cubic"};
  constexpr std::string_view borders[] = {"zeros", "border", "reflection"};
  const auto m = mode ? std::find(modes, modes + 3, mode->text) : modes + 3;
  const auto b =
      border ? std::find(borders, borders + 3, border->text) : borders + 3;
  if (m == modes + 3 || b == borders + 3)
    return failure(kName, "unknown mode or padding_mode");
  sampler = {static_cast<Mode>(m - modes), static_cast<Border>(b - borders),
             call.intOr("align_corners", 0) != 0};
  return Status::ok();
}

Status run(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(expectOperands(call, kName, 2));
  const TensorView &x = call.inputs[0], &grid = call.inputs[1];
  const TensorView &y = call.outputs[0];
  Sampler sampler;
  SHARDC_RETURN_IF_ERROR(readSampler(call, sampler));
  bool fits = x.rank >= 3 && y.rank == x.rank && grid.rank == x.rank &&
              x.dims[0] == y.dims[0] && x.dims[1] == y.dims[1] &&
              x.dims[0] == grid.dims[0] &&
              grid.dims[grid.rank - 1] == x.rank - 2;
  for (int d = 2; fits && d < x.rank; ++d)
    fits = y.dims[d] == grid.dims[d - 1] && x.dims[d] > 0;
  if (!fits)
    return failure(kName, "X " + dimsToString(x) + " does not fit the grid " +
                              dimsToString(grid));
  SHARDC_RETURN_IF_ERROR(expectElement(kName, x.element, y));
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
