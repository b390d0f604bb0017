// Copy, Once, Symbols, Range: kernels that only write what they are given.
#include "tests/unit/kernels/KernelTest.h"

namespace shardc::runtime::host {
namespace {

template <typename T> void copiesEveryLayout() {
  const Tensor x = Tensor::integers<T>({3, 20, 35});
  for (const Tensor &from :
       {x, x.permuted({0, 2, 1}), x.permuted({2, 1, 0}), x.scattered(),
        x.slice(1, 19, 20, -1), x.slice(2, 1, 12, 2),
        x.slice(0, 0, 1).broadcast({4, 20, 35})}) {
    const Tensor out = Tensor::filled<T>(from.dims(), T(Compute<T>(5)));
    EXPECT_OK(runKernel("Copy", {from}, {out}));
    EXPECT_EQ(out.values<T>(), from.values<T>());
    const Tensor window = out.scattered();
    EXPECT_OK(runKernel("Copy", {from}, {window}));
    EXPECT_EQ(window.values<T>(), from.values<T>());
  }
}

TEST(Copy, EveryLayoutAndSize) {
  copiesEveryLayout<Boolean>();
  copiesEveryLayout<Float16>();
  copiesEveryLayout<float>();
  copiesEveryLayout<int64_t>();
}

TEST(Copy, LeavesTheRestOfAWindowAlone) {
  const Tensor out = Tensor::filled<float>({2, 6}, 9);
  EXPECT_OK(runKernel("Copy", {Tensor::of<float>({2, 2}, {1, 2, 3, 4})},
                      {out.slice(1, 3, 2)}));
  EXPECT_EQ(out.values<float>(),
            (std::vector<float>{9, 9, 9, 1, 2, 9, 9, 9, 9, 3, 4, 9}));
}

TEST(Copy, ScalarsAndEmpty) {
  const Tensor scalar = Tensor::filled<int64_t>({}, 0);
  EXPECT_OK(runKernel("Copy", {Tensor::of<int64_t>({}, {7})}, {scalar}));
  EXPECT_EQ(scalar.values<int64_t>(), std::vector<int64_t>{7});
  EXPECT_OK(runKernel("Copy", {Tensor::filled<float>({2, 0, 3}, 0)},
                      {Tensor::filled<float>({2, 0, 3}, 0)}));
}

TEST(Once, AddsItsInputOnOneRankOnly) {
  const Tensor bias = Tensor::of<float>({3}, {1, 2, 3}).broadcast({2, 3});
  const Tensor out = Tensor::filled<float>({2, 3}, 9);
  EXPECT_OK(
      runKernel("Once", {bias}, {out}, Attributes().ints("present", {1})));
  EXPECT_EQ(out.values<float>(), bias.values<float>());
  EXPECT_OK(
      runKernel("Once", {bias}, {out}, Attributes().ints("present", {0})));
  EXPECT_EQ(out.values<float>(), std::vector<float>(6, 0));
}

TEST(Symbols, WritesTheHostsIntegers) {
  const Tensor wide = Tensor::filled<int64_t>({3}, 0);
  EXPECT_OK(runKernel("Symbols", {}, {wide},
                      Attributes().ints("values", {4, -1, 1ll << 40})));
  EXPECT_EQ(wide.values<int64_t>(), (std::vector<int64_t>{4, -1, 1ll << 40}));
  const Tensor scalar = Tensor::filled<int32_t>({}, 0);
  EXPECT_OK(
      runKernel("Symbols", {}, {scalar}, Attributes().ints("values", {8})));
  EXPECT_EQ(scalar.values<int32_t>(), std::vector<int32_t>{8});
  EXPECT_FALSE(
      runKernel("Symbols", {}, {wide}, Attributes().ints("values", {4}))
          .isOk());
}

TEST(Range, FromAttributesOrInputs) {
  const Tensor ints = Tensor::filled<int64_t>({4}, 0);
  EXPECT_OK(runKernel("Range", {}, {ints},
                      Attributes().ints("start", {6}).ints("delta", {-2})));
  EXPECT_EQ(ints.values<int64_t>(), (std::vector<int64_t>{6, 4, 2, 0}));
  const Tensor floats = Tensor::filled<float>({3}, 0);
  EXPECT_OK(runKernel(
      "Range", {Tensor::of<float>({}, {0.5f}), Tensor::of<float>({}, {0.25f})},
      {floats}));
  EXPECT_EQ(floats.values<float>(), (std::vector<float>{0.5f, 0.75f, 1.0f}));
}

} // namespace
} // namespace shardc::runtime::host
