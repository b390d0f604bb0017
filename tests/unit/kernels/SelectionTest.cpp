// TopK, ArgMax, ArgMin, Trilu, CumSum, Pad.
#include "tests/unit/kernels/KernelTest.h"

namespace shardc::runtime::host {
namespace {

using Floats = std::vector<float>;
using Ints = std::vector<int64_t>;

TEST(TopK, TiesGoToTheLowerIndex) {
  const Tensor x = Tensor::of<float>({2, 5}, {3, 1, 3, 2, 3, 0, 5, 4, 5, 1});
  for (const Tensor &in : {x, x.scattered()}) {
    const Tensor values = Tensor::filled<float>({2, 3}, 9).scattered();
    const Tensor indices = Tensor::filled<int64_t>({2, 3}, 9);
    EXPECT_OK(runKernel("TopK", {in}, {values, indices},
                        Attributes().ints("axis", {1})));
    EXPECT_EQ(values.values<float>(), (Floats{3, 3, 3, 5, 5, 4}));
    EXPECT_EQ(indices.values<int64_t>(), (Ints{0, 2, 4, 1, 3, 2}));
    EXPECT_OK(runKernel("TopK", {in}, {values, indices},
                        Attributes().ints("axis", {1}).ints("largest", {0})));
    EXPECT_EQ(values.values<float>(), (Floats{1, 2, 3, 0, 1, 4}));
    EXPECT_EQ(indices.values<int64_t>(), (Ints{1, 3, 0, 0, 4, 2}));
  }
}

TEST(TopK, OutermostAxisAndNone) {
  const Tensor x = Tensor::of<int64_t>({3, 2}, {1, 9, 5, 8, 3, 7});
  const Tensor values = Tensor::filled<int64_t>({1, 2}, 0);
  const Tensor indices = Tensor::filled<int64_t>({1, 2}, 9);
  EXPECT_OK(runKernel("TopK", {x}, {values, indices},
                      Attributes().ints("axis", {0})));
  EXPECT_EQ(values.values<int64_t>(), (Ints{5, 9}));
  EXPECT_EQ(indices.values<int64_t>(), (Ints{1, 0}));
  EXPECT_OK(runKernel(
      "TopK", {x},
      {Tensor::filled<int64_t>({0, 2}, 0), Tensor::filled<int64_t>({0, 2}, 0)},
      Attributes().ints("axis", {0})));
}

TEST(ArgMax, FirstOrLastOfEquals) {
  const Tensor x = Tensor::of<float>({2, 4}, {1, 7, 7, 0, -1, -3, -1, -3});
  const auto run = [&](const char *kernel, int64_t last) {
    const Tensor out = Tensor::filled<int64_t>({2, 1}, 9);
    EXPECT_OK(runKernel(
        kernel, {x.scattered()}, {out},
        Attributes().ints("axis", {1}).ints("select_last_index", {last})));
    return out.values<int64_t>();
  };
  EXPECT_EQ(run("ArgMax", 0), (Ints{1, 0}));
  EXPECT_EQ(run("ArgMax", 1), (Ints{2, 2}));
  EXPECT_EQ(run("ArgMin", 0), (Ints{3, 1}));
  EXPECT_EQ(run("ArgMin", 1), (Ints{3, 3}));
}

TEST(ArgMax, NothingToSearchIsAnError) {
  EXPECT_EQ(runKernel("ArgMax", {Tensor::filled<float>({2, 0}, 0)},
                      {Tensor::filled<int64_t>({2, 1}, 0)},
                      Attributes().ints("axis", {1}))
                .message(),
            "ArgMax: the dim to search is empty");
}

TEST(Trilu, EveryDiagonal) {
  const Tensor x = Tensor::integers<float>({2, 3, 4}).scattered();
  for (int64_t k : {-9, -2, -1, 0, 1, 3, 9})
    for (int64_t upper : {0, 1}) {
      const Tensor out = Tensor::filled<float>(x.dims(), 9);
      EXPECT_OK(runKernel("Trilu", {x}, {out},
                          Attributes().ints("upper", {upper}).ints("k", {k})));
      forEach(x.dims(), [&](const Dims &at) {
        const bool keeps = upper ? at[2] >= at[1] + k : at[2] <= at[1] + k;
        EXPECT_EQ(out.at<float>(at), keeps ? x.at<float>(at) : 0);
      });
    }
}

TEST(CumSum, BothDirections) {
  const Tensor x = Tensor::of<int64_t>({1, 4}, {1, 2, 3, 4});
  const auto run = [&](int64_t exclusive, int64_t reverse) {
    const Tensor out = Tensor::filled<int64_t>({1, 4}, 9);
    EXPECT_OK(runKernel("CumSum", {x}, {out},
                        Attributes()
                            .ints("axis", {1})
                            .ints("exclusive", {exclusive})
                            .ints("reverse", {reverse})));
    return out.values<int64_t>();
  };
  EXPECT_EQ(run(0, 0), (Ints{1, 3, 6, 10}));
  EXPECT_EQ(run(1, 0), (Ints{0, 1, 3, 6}));
  EXPECT_EQ(run(0, 1), (Ints{10, 9, 7, 4}));
  EXPECT_EQ(run(1, 1), (Ints{9, 7, 4, 0}));
}

Floats pad(const char *mode, int64_t begin, int64_t end) {
  const Tensor x = Tensor::of<float>({1, 3}, {1, 2, 3}).scattered();
  const Tensor out = Tensor::filled<float>({1, 3 + begin + end}, 9);
  EXPECT_OK(runKernel(
      "Pad", {x, Tensor::of<float>({}, {7})}, {out},
      Attributes().text("mode", mode).ints("pads", {0, begin, 0, end})));
  return out.values<float>();
}

TEST(Pad, EveryMode) {
  EXPECT_EQ(pad("constant", 2, 1), (Floats{7, 7, 1, 2, 3, 7}));
  EXPECT_EQ(pad("reflect", 2, 2), (Floats{3, 2, 1, 2, 3, 2, 1}));
  EXPECT_EQ(pad("edge", 2, 1), (Floats{1, 1, 1, 2, 3, 3}));
  EXPECT_EQ(pad("wrap", 2, 1), (Floats{2, 3, 1, 2, 3, 1}));
  EXPECT_EQ(pad("constant", -1, 1), (Floats{2, 3, 7}));
}

TEST(Pad, AllConstantAroundNothing) {
  const Tensor out = Tensor::filled<float>({2, 2}, 9);
  EXPECT_OK(runKernel(
      "Pad", {Tensor::filled<float>({2, 0}, 0)}, {out},
      Attributes().text("mode", "constant").ints("pads", {0, 1, 0, 1})));
  EXPECT_EQ(out.values<float>(), Floats(4, 0));
}

} // namespace
} // namespace shardc::runtime::host
