// LayerNormalization, RMSNormalization, Softmax, LogSoftmax.
#include "tests/unit/kernels/KernelTest.h"

#include <cmath>
#include <limits>

namespace shardc::runtime::host {
namespace {

struct Statistics {
  double mean = 0, inverse = 0;
};

template <typename T>
Statistics statisticsOf(const Tensor &x, int64_t a, int64_t b, bool centered,
                        double epsilon) {
  const double size = double(x.view.dims[2] * x.view.dims[3]);
  Statistics s;
  const auto forRow = [&](auto body) {
    forEach({x.view.dims[2], x.view.dims[3]}, [&](const Dims &at) {
      body(double(x.at<T>({a, b, at[0], at[1]})));
    });
  };
  if (centered)
    forRow([&](double v) { s.mean += v / size; });
  double variance = 0;
  forRow([&](double v) { variance += (v - s.mean) * (v - s.mean) / size; });
  s.inverse = 1 / std::sqrt(variance + epsilon);
  return s;
}

template <typename T> void normalizesRows(double tolerance) {
  const Tensor whole = Tensor::integers<T>({2, 3, 5, 8}, 1);
  const Tensor scale = Tensor::integers<T>({5, 8}, 2);
  const Tensor bias = Tensor::integers<T>({8}, 3).broadcast({5, 8});
  using Statistic = std::conditional_t<sizeof(T) == 8, double, float>;
  for (const Tensor &x : {whole, whole.scattered()})
    for (const bool centered : {true, false}) {
      const Tensor out = Tensor::filled<T>(x.dims(), T(Compute<T>(9)));
      const Tensor mean = Tensor::filled<Statistic>({2, 3, 1, 1}, 9);
      const Tensor inverse = Tensor::filled<Statistic>({2, 3, 1, 1}, 9);
      if (centered)
        EXPECT_OK(runKernel(
            "LayerNormalization", {x, scale, bias}, {out, mean, inverse},
            Attributes().ints("axis", {2}).number("epsilon", 1e-3)));
      else
        EXPECT_OK(
            runKernel("RMSNormalization", {x, scale.scattered()}, {out},
                      Attributes().ints("axis", {2}).number("epsilon", 1e-3)));
      forEach(x.dims(), [&](const Dims &at) {
        const Statistics s = statisticsOf<T>(x, at[0], at[1], centered, 1e-3);
        const Dims in = {at[2], at[3]};
        const double expected =
            (x.at<T>(at) - s.mean) * s.inverse * scale.at<T>(in) +
            (centered ? double(bias.at<T>(in)) : 0.0);
        EXPECT_NEAR(double(out.at<T>(at)), expected,
                    tolerance * (1 + std::abs(expected)));
        if (centered) {
          EXPECT_NEAR(mean.at<Statistic>({at[0], at[1]}), s.mean, 1e-6);
          EXPECT_NEAR(inverse.at<Statistic>({at[0], at[1]}), s.inverse, 1e-5);
        }
      });
    }
}

TEST(Normalization, RowsOfTwoDims) {
  normalizesRows<float>(1e-6);
  normalizesRows<double>(1e-12);
  normalizesRows<Float16>(1e-3);
  normalizesRows<BFloat16>(1e-2);
}

TEST(Normalization, LargeMeanKeepsTheVariance) {
  const Tensor x = Tensor::of<float>({1, 4}, {10001, 10002, 10003, 10004});
  const Tensor out = Tensor::filled<float>({1, 4}, 9);
  EXPECT_OK(runKernel("LayerNormalization", {x, Tensor::filled<float>({4}, 1)},
                      {out},
                      Attributes().ints("axis", {1}).number("epsilon", 0)));
  EXPECT_NEAR(out.at<float>({0, 3}), 1.5 / std::sqrt(1.25), 1e-5);
}

template <typename T> void sumsToOne(double tolerance) {
  const Tensor whole = Tensor::integers<T>({3, 4, 5});
  for (const Tensor &x : {whole, whole.scattered()})
    for (int axis = 0; axis < 3; ++axis)
      for (const char *kernel : {"Softmax", "LogSoftmax"}) {
        const Tensor out = Tensor::filled<T>(x.dims(), T(Compute<T>(9)));
        EXPECT_OK(
            runKernel(kernel, {x}, {out}, Attributes().ints("axis", {axis})));
        forEach(x.dims(), [&](const Dims &at) {
          double sum = 0;
          Dims other = at;
          for (other[axis] = 0; other[axis] < x.view.dims[axis]; ++other[axis])
            sum += std::exp(double(x.at<T>(other)));
          const double logarithm = double(x.at<T>(at)) - std::log(sum);
          EXPECT_NEAR(double(out.at<T>(at)),
                      kernel[0] == 'S' ? std::exp(logarithm) : logarithm,
                      tolerance * (1 + std::abs(logarithm)));
        });
      }
}

TEST(Softmax, EveryAxisAndLayout) {
  sumsToOne<float>(1e-6);
  sumsToOne<double>(1e-12);
  sumsToOne<Float16>(1e-3);
  sumsToOne<BFloat16>(1e-2);
}

TEST(Softmax, LargeAndMaskedScores) {
  const float infinity = std::numeric_limits<float>::infinity();
  const Tensor x = Tensor::of<float>(
      {3, 2}, {1000, 1000, 3, -infinity, -infinity, -infinity});
  const Tensor out = Tensor::filled<float>({3, 2}, 9);
  EXPECT_OK(runKernel("Softmax", {x}, {out}, Attributes().ints("axis", {1})));
  EXPECT_EQ(out.at<float>({0, 1}), 0.5f);
  EXPECT_EQ(out.at<float>({1, 0}), 1);
  EXPECT_EQ(out.at<float>({1, 1}), 0);
  EXPECT_TRUE(std::isnan(out.at<float>({2, 0})));
}

} // namespace
} // namespace shardc::runtime::host
