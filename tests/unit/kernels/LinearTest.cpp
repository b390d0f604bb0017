#include "tests/unit/kernels/KernelTest.h"

#include <algorithm>
#include <cmath>

namespace shardc::runtime::host {
namespace {

double activated(double x, std::string_view activation) {
  if (activation == "relu")
    return std::max(x, 0.0);
  if (activation == "gelu")
    return x / 2 *
           (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  return x;
}

/// Integers small enough that products and sums are exact in any type.
template <typename T>
void expectLinear(const Tensor &a, const Tensor &b, const Tensor &bias,
                  const Tensor &residual, const Tensor &out,
                  std::string_view activation) {
  const size_t row = a.dims().size() - 2, column = row + 1;
  const double tolerance = activation == "gelu" ? 0.01 : 0;
  for (auto *run : {runKernel, runPacked}) {
    EXPECT_OK(run("Linear", {a, b, bias, residual}, {out},
                  Attributes().text("activation", activation)));
    forEach(out.dims(), [&](const Dims &index) {
      double sum = 0;
      Dims left = index, right = index;
      for (int64_t k = 0; k < a.dims()[column]; ++k) {
        left[column] = right[row] = k;
        sum += double(a.at<T>(left)) * double(b.at<T>(right));
      }
      for (const Tensor &addend : {bias, residual})
        if (!addend.view.isAbsent())
          sum += double(addend.at<T>(index));
      const double expected = activated(sum, activation);
      EXPECT_NEAR(double(out.at<T>(index)), expected,
                  tolerance * std::max(1.0, std::fabs(expected)));
    });
  }
}

template <typename T> void addsAndActivates() {
  const Dims dims = {2, 3, 4};
  const Tensor a = Tensor::integers<T>({2, 3, 5}, 1);
  const Tensor b = Tensor::integers<T>({5, 4}, 2).broadcast({2, 5, 4});
  const Tensor bias = Tensor::integers<T>({4}, 3).broadcast(dims);
  const Tensor residual = Tensor::integers<T>(dims, 4);
  const Tensor out = Tensor::filled<T>(dims, T(Compute<T>(99)));
  for (const Tensor &row : {bias, Tensor::absent()})
    for (const Tensor &rows :
         {residual, residual.scattered(), Tensor::absent()})
      for (const char *activation : {"", "relu", "gelu"})
        for (const Tensor &to : {out, out.scattered()})
          expectLinear<T>(a, b, row, rows, to, activation);
}

TEST(Linear, AddsAndActivates) {
  addsAndActivates<float>();
  addsAndActivates<Float16>();
  addsAndActivates<BFloat16>();
}

TEST(Linear, NothingToSumLeavesTheAddends) {
  const Dims dims = {2, 3};
  expectLinear<float>(
      Tensor::filled<float>({2, 0}, 0), Tensor::filled<float>({0, 3}, 0),
      Tensor::integers<float>({3}, 1).broadcast(dims),
      Tensor::integers<float>(dims, 2), Tensor::filled<float>(dims, 9), "relu");
}

TEST(Linear, RefusesWhatDoesNotFit) {
  const Tensor a = Tensor::filled<float>({2, 4}, 1),
               b = Tensor::filled<float>({4, 3}, 1),
               out = Tensor::filled<float>({2, 3}, 0);
  const auto message = [&](const Tensor &bias, std::string_view activation) {
    return runKernel("Linear", {a, b, bias}, {out},
                     Attributes().text("activation", activation))
        .message();
  };
  EXPECT_EQ(message(Tensor::filled<float>({3}, 1), ""),
            "Linear: expected dims [2, 3], found [3]");
  EXPECT_EQ(message(Tensor::filled<float>({2, 3}, 1), ""),
            "Linear: the bias is more than one row");
  EXPECT_EQ(message(Tensor::absent(), "tanh"),
            "Linear: there is no activation 'tanh'");
}

} // namespace
} // namespace shardc::runtime::host
