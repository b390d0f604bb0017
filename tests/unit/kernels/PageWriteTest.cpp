// PageWrite.
#include "tests/unit/kernels/KernelTest.h"

namespace shardc::runtime::host {
namespace {

TEST(PageWrite, EntriesGoToTheirSlots) {
  const Tensor pool = Tensor::integers<float>({3, 2, 4, 5}, 1);
  const Tensor added = Tensor::integers<float>({1, 2, 4, 5}, 2);
  const Tensor slots = Tensor::of<int64_t>({4}, {4, 11, -1, 0});
  const Tensor copies = Tensor::of<int64_t>({1, 2}, {0, 2});
  for (const bool isInPlace : {false, true}) {
    const Tensor in = pool.copy();
    const Tensor out = isInPlace ? in : Tensor::filled<float>({3, 2, 4, 5}, 9);
    EXPECT_OK(runKernel("PageWrite", {in, added.scattered(), slots, copies},
                        {out}, Attributes().ints("axis", {2})));
    forEach(out.dims(), [&](const Dims &at) {
      float expected =
          pool.at<float>({at[0] == 2 ? 0 : at[0], at[1], at[2], at[3]});
      for (int64_t i = 0; i < 4; ++i)
        if (slots.at<int64_t>({i}) == at[0] * 4 + at[2])
          expected = added.at<float>({0, at[1], i, at[3]});
      EXPECT_EQ(out.at<float>(at), expected);
    });
  }
}

/// A rank with places 2 and 3 of 4.
TEST(PageWrite, OfAPartOfThePlaces) {
  const Tensor whole = Tensor::integers<float>({3, 2, 4, 5}, 1);
  const Tensor added = Tensor::integers<float>({1, 2, 4, 5}, 2);
  const Tensor slots = Tensor::of<int64_t>({4}, {4, 11, -1, 2});
  const Tensor copies = Tensor::of<int64_t>({1, 2}, {0, 2});
  const Tensor out = whole.copy(), part = whole.slice(2, 2, 2).copy();
  EXPECT_OK(runKernel("PageWrite", {out, added, slots, copies}, {out},
                      Attributes().ints("axis", {2})));
  EXPECT_OK(runKernel("PageWrite", {part, added, slots, copies}, {part},
                      Attributes().ints("axis", {2}).ints("places", {2, 4})));
  EXPECT_EQ(part.values<float>(), out.slice(2, 2, 2).values<float>());
}

TEST(PageWrite, AlongAnotherDim) {
  const Tensor pool = Tensor::integers<float>({2, 3, 4}, 1);
  const Tensor added = Tensor::integers<float>({1, 2, 4}, 2);
  const Tensor out = pool.copy();
  EXPECT_OK(runKernel("PageWrite",
                      {out, added, Tensor::of<int32_t>({2}, {5, 1}),
                       Tensor::of<int64_t>({0, 2}, {})},
                      {out}, Attributes().ints("axis", {1})));
  for (int64_t d = 0; d < 4; ++d) {
    EXPECT_EQ(out.at<float>({1, 2, d}), added.at<float>({0, 0, d}));
    EXPECT_EQ(out.at<float>({0, 1, d}), added.at<float>({0, 1, d}));
    EXPECT_EQ(out.at<float>({0, 0, d}), pool.at<float>({0, 0, d}));
  }
}

TEST(PageWrite, WhatHasNoPlaceIsAnError) {
  const auto run = [](int64_t slot, int64_t page) {
    const Tensor pool = Tensor::integers<float>({2, 1, 4, 2});
    return runKernel("PageWrite",
                     {pool, Tensor::integers<float>({1, 1, 1, 2}),
                      Tensor::of<int64_t>({1}, {slot}),
                      Tensor::of<int64_t>({1, 2}, {page, 0})},
                     {pool}, Attributes().ints("axis", {2}))
        .message();
  };
  EXPECT_EQ(run(7, 1), "");
  EXPECT_EQ(run(8, 1), "PageWrite: index 8 is outside of a dim of size 8");
  EXPECT_EQ(run(0, 2), "PageWrite: index 2 is outside of a dim of size 2");
  EXPECT_NE(run(INT64_MAX, 1).find("other positions than the sequence has"),
            std::string::npos);
  EXPECT_NE(run(INT64_MAX - 1, 1).find("more positions than the model takes"),
            std::string::npos);
}

} // namespace
} // namespace shardc::runtime::host
