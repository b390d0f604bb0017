// MaxPool, AveragePool and LpPool.
#include "runtime/kernels/image/PoolWindow.h"
#include "tests/unit/kernels/KernelTest.h"

#include <cmath>

namespace shardc::runtime::host {
namespace {

TEST(WindowRange, HasTheWindowsWithAnElementInside) {
  for (int64_t step : {1, 2, 3, 5})
    for (int64_t size : {0, 1, 2, 7, 20})
      for (int64_t offset = -12; offset <= 22; ++offset)
        for (int64_t first : {0, 3})
          for (int64_t count : {0, 1, 6}) {
            const WindowRange range(first, count, offset, step, size);
            int64_t inside = 0;
            for (int64_t o = first; o < first + count; ++o)
              if (o * step + offset >= 0 && o * step + offset < size) {
                ++inside;
                EXPECT_LE(range.begin, o);
                EXPECT_LT(o, range.end);
              }
            EXPECT_EQ(range.end - range.begin, inside)
                << step << " " << size << " " << offset << " " << first;
          }
}

struct Pooling {
  Tensor x;
  Dims taps, steps, pads, dilations;
  Dims windows; ///< of an image
};

/// An element of the result, from the definition: of all three.
template <typename T> struct Window {
  double most = -INFINITY, sum = 0, squares = 0;
  int64_t inside = 0, padded = 0;
  bool hasNaN = false;

  Window(const Pooling &p, const Dims &at) {
    const size_t spatial = p.taps.size();
    forEach(p.taps, [&](const Dims &tap) {
      Dims from = {at[0], at[1]};
      bool isInside = true, isPadded = true;
      for (size_t d = 0; d < spatial; ++d) {
        const int64_t i =
            at[d + 2] * p.steps[d] - p.pads[d] + tap[d] * p.dilations[d];
        const int64_t size = p.x.view.dims[d + 2];
        isInside = isInside && i >= 0 && i < size;
        isPadded =
            isPadded && i >= -p.pads[d] && i < size + p.pads[d + spatial];
        from.push_back(i);
      }
      padded += isPadded;
      if (!isInside)
        return;
      ++inside;
      const double value(p.x.at<T>(from));
      hasNaN = hasNaN || std::isnan(value);
      most = std::max(most, value);
      sum += value;
      squares += value * value;
    });
  }
};

template <typename T> void expectPools(const Pooling &p) {
  Dims dims = {p.x.view.dims[0], p.x.view.dims[1]};
  dims.insert(dims.end(), p.windows.begin(), p.windows.end());
  const Attributes window = Attributes()
                                .ints("kernel_shape", p.taps)
                                .ints("strides", p.steps)
                                .ints("pads", p.pads)
                                .ints("dilations", p.dilations);
  const Tensor plain = Tensor::filled<T>(dims, T(Compute<T>(9)));
  for (const Tensor &x : {p.x, p.x.scattered()})
    for (const Tensor &made : {plain, plain.scattered()})
      for (std::string_view name : {"MaxPool", "AveragePool", "LpPool"})
        for (int64_t counts : {0, 1}) {
          const Tensor out = made.copy();
          Attributes attributes = window;
          EXPECT_OK(runKernel(
              name, {x}, {out},
              std::move(attributes).ints("count_include_pad", {counts})));
          forEach(dims, [&](const Dims &at) {
            const Window<T> w(p, at);
            const int64_t count = counts ? w.padded : w.inside;
            const double expected =
                name == "MaxPool"  ? (w.hasNaN ? NAN : w.most)
                : name == "LpPool" ? std::sqrt(w.squares)
                                   : w.sum / double(count > 0 ? count : 1);
            const double found(out.at<T>(at));
            if (std::isnan(expected))
              EXPECT_TRUE(std::isnan(found)) << name;
            else
              EXPECT_EQ(found, double(Compute<T>(T(Compute<T>(expected)))))
                  << name;
          });
        }
}

template <typename T> void everyRank() {
  expectPools<T>(
      {Tensor::integers<T>({2, 3, 11}, 1), {3}, {2}, {1, 2}, {2}, {5}});
  expectPools<T>({Tensor::integers<T>({2, 2, 7, 6}, 2),
                  {3, 2},
                  {1, 2},
                  {1, 0, 2, 1},
                  {1, 2},
                  {8, 3}});
  expectPools<T>({Tensor::integers<T>({1, 2, 4, 5, 3}, 3),
                  {2, 3, 1},
                  {1, 2, 1},
                  {0, 1, 0, 1, 1, 0},
                  {1, 1, 1},
                  {4, 3, 3}});
  // Longer than the windows of a line that are walked at a time.
  expectPools<T>(
      {Tensor::integers<T>({1, 1, 600}, 4), {2}, {1}, {0, 0}, {1}, {599}});
  // The last window lies in the padding alone.
  expectPools<T>(
      {Tensor::integers<T>({1, 1, 3}, 5), {2}, {4}, {2, 4}, {1}, {2}});
}

TEST(Pool, OneToThreeDims) {
  everyRank<float>();
  everyRank<double>();
  everyRank<Float16>();
}

TEST(Pool, NaNs) {
  Tensor x = Tensor::integers<float>({1, 2, 9}, 1);
  for (int64_t i : {0, 4, 5, 17})
    x.view.as<float>()[i] = NAN;
  Pooling p = {x, {3}, {1}, {1, 1}, {1}, {9}};
  Dims dims = {1, 2, 9};
  const Tensor out = Tensor::filled<float>(dims, 9);
  EXPECT_OK(runKernel("MaxPool", {x}, {out},
                      Attributes()
                          .ints("kernel_shape", p.taps)
                          .ints("strides", p.steps)
                          .ints("pads", p.pads)
                          .ints("dilations", p.dilations)));
  forEach(dims, [&](const Dims &at) {
    EXPECT_EQ(std::isnan(out.at<float>(at)), Window<float>(p, at).hasNaN);
  });
}

} // namespace
} // namespace shardc::runtime::host
