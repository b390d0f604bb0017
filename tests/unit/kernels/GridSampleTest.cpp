#include "tests/unit/kernels/KernelTest.h"

#include <cmath>

namespace shardc::runtime::host {
namespace {

Attributes linear() {
  return Attributes()
      .text("mode", "linear")
      .text("padding_mode", "border")
      .ints("align_corners", {1});
}

/// Between elements 1 and 2 of [2, 3, 7], a third of the way and a bit.
template <typename T> double sampleAt(double position) {
  Tensor x = Tensor::of<T>({1, 1, 3}, {2, 3, 7});
  Tensor grid = Tensor::of<T>({1, 1, 1}, {Compute<T>(position)});
  Tensor y = Tensor::filled<T>({1, 1, 1}, T(0));
  EXPECT_OK(runKernel("GridSample", {x, grid}, {y}, linear()));
  return y.at<T>({0, 0, 0});
}

TEST(GridSampleTest, DoublesAreNotRoundedToFloat) {
  const double position = 1.0 / 3 + 1e-12;
  EXPECT_NEAR(sampleAt<double>(position), 3 + 4 * position, 1e-15 * 8);
}

TEST(GridSampleTest, FloatsAreSampledInFloat) {
  EXPECT_NEAR(sampleAt<float>(1.0 / 3), 3 + 4.0 / 3, 1e-6);
}

} // namespace
} // namespace shardc::runtime::host
