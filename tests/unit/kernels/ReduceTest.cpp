#include "tests/unit/kernels/KernelTest.h"

#include <cmath>
#include <limits>

namespace shardc::runtime::host {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Folds x over its reduced dims in double.
template <typename T>
std::vector<double> fold(const Tensor &x, const Dims &kept, double initial,
                         const std::function<double(double, double)> &step) {
  std::vector<double> result;
  forEach(kept, [&](const Dims &base) {
    Dims rest = x.dims();
    for (size_t d = 0; d < rest.size(); ++d)
      rest[d] = kept[d] == 1 ? rest[d] : 1;
    double value = initial;
    forEach(rest, [&](const Dims &inner) {
      Dims index = base;
      for (size_t d = 0; d < index.size(); ++d)
        index[d] += inner[d];
      value = step(value, double(x.at<T>(index)));
    });
    result.push_back(double(Compute<T>(T(Compute<T>(value))))); // rounded once
  });
  return result;
}

struct Case {
  const char *kernel;
  double initial;
  std::function<double(double, double)> step;
};

const Case kCases[] = {
    {"ReduceSum", 0, [](double a, double x) { return a + x; }},
    {"ReduceProd", 1, [](double a, double x) { return a * x; }},
    {"ReduceL1", 0, [](double a, double x) { return a + std::abs(x); }},
    {"ReduceSumSquare", 0, [](double a, double x) { return a + x * x; }},
    {"ReduceMax", -kInfinity,
     [](double a, double x) { return std::max(a, x); }},
    {"ReduceMin", kInfinity, [](double a, double x) { return std::min(a, x); }},
};

template <typename T> void reducesEveryAxis() {
  const Tensor whole = Tensor::integers<T>({3, 70, 5});
  for (const Tensor &x : {whole, whole.scattered(), whole.permuted({2, 1, 0})})
    for (const std::vector<int64_t> &axes : std::vector<std::vector<int64_t>>{
             {0}, {1}, {2}, {0, 1}, {1, 2}, {0, 2}, {0, 1, 2}, {}})
      for (const Case &test : kCases) {
        if (test.kernel == std::string("ReduceProd") && axes.size() > 0)
          continue; // products of many overflow; tested below
        Dims kept = x.dims();
        for (int64_t axis : axes)
          kept[axis] = 1;
        const Tensor out = Tensor::filled<T>(kept, T(Compute<T>(99)));
        EXPECT_OK(runKernel(test.kernel, {x}, {out},
                            Attributes().ints("axes", axes)));
        const auto found = out.values<T>();
        EXPECT_EQ(std::vector<double>(found.begin(), found.end()),
                  fold<T>(x, kept, test.initial, test.step))
            << test.kernel;
      }
}

TEST(Reduce, EveryAxisAndLayout) {
  reducesEveryAxis<float>();
  reducesEveryAxis<double>();
  reducesEveryAxis<BFloat16>();
  reducesEveryAxis<int32_t>();
  reducesEveryAxis<int64_t>();
}

TEST(Reduce, EmptyGivesTheIdentity) {
  const Tensor x = Tensor::filled<float>({2, 0}, 0);
  const float infinity = std::numeric_limits<float>::infinity();
  const std::pair<const char *, float> cases[] = {
      {"ReduceSum", 0.f},
      {"ReduceMean", 0.f},
      {"ReduceL1", 0.f},
      {"ReduceL2", 0.f},
      {"ReduceSumSquare", 0.f},
      {"ReduceProd", 1.f},
      {"ReduceMax", -infinity},
      {"ReduceMin", infinity},
      {"ReduceLogSumExp", -infinity}};
  for (const auto &[kernel, identity] : cases) {
    const Tensor out = Tensor::filled<float>({2, 1}, 9);
    EXPECT_OK(runKernel(kernel, {x}, {out}, Attributes().ints("axes", {1})));
    EXPECT_EQ(out.values<float>(), std::vector<float>(2, identity)) << kernel;
  }
}

TEST(Reduce, MeanDividesByTheGlobalCount) {
  const Tensor x = Tensor::of<float>({1, 4}, {1, 2, 3, 6});
  const Tensor out = Tensor::filled<float>({1, 1}, 0);
  EXPECT_OK(
      runKernel("ReduceMean", {x}, {out}, Attributes().ints("axes", {1})));
  EXPECT_EQ(out.at<float>({0, 0}), 3);
  EXPECT_OK(runKernel("ReduceMean", {x}, {out},
                      Attributes().ints("axes", {1}).ints("count", {8})));
  EXPECT_EQ(out.at<float>({0, 0}), 1.5);
}

TEST(Reduce, L2ProductAndLogSumExp) {
  const Tensor out = Tensor::filled<float>({1}, 0);
  const auto axis = [] { return Attributes().ints("axes", {0}); };
  EXPECT_OK(
      runKernel("ReduceL2", {Tensor::of<float>({2}, {3, 4})}, {out}, axis()));
  EXPECT_EQ(out.at<float>({0}), 5);
  EXPECT_OK(runKernel("ReduceProd", {Tensor::of<float>({3}, {3, -4, 2})}, {out},
                      axis()));
  EXPECT_EQ(out.at<float>({0}), -24);
  EXPECT_OK(runKernel("ReduceLogSumExp",
                      {Tensor::of<float>({20}, std::vector<float>(20, 500))},
                      {out}, axis()));
  EXPECT_FLOAT_EQ(out.at<float>({0}), 500 + std::log(20.f));
}

TEST(Reduce, NaNPropagates) {
  std::vector<float> values(20, 1);
  values[13] = std::nanf("");
  for (const char *kernel :
       {"ReduceMax", "ReduceMin", "ReduceSum", "ReduceLogSumExp"}) {
    const Tensor out = Tensor::filled<float>({1}, 0);
    EXPECT_OK(runKernel(kernel, {Tensor::of<float>({20}, values)}, {out},
                        Attributes().ints("axes", {0})));
    EXPECT_TRUE(std::isnan(out.at<float>({0}))) << kernel;
  }
}

TEST(Reduce, ManySmallTermsKeepTheirSum) {
  const Tensor x = Tensor::filled<float>({1 << 20}, 0.1f);
  const Tensor out = Tensor::filled<float>({1}, 0);
  EXPECT_OK(runKernel("ReduceSum", {x}, {out}, Attributes().ints("axes", {0})));
  EXPECT_FLOAT_EQ(out.at<float>({0}), float((1 << 20) * double(0.1f)));
}

} // namespace
} // namespace shardc::runtime::host
