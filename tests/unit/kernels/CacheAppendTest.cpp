#include "tests/unit/kernels/KernelTest.h"

namespace shardc::runtime::host {
namespace {

TEST(CacheAppend, RowsOfDifferentLengths) {
  const Tensor past = Tensor::integers<float>({3, 2, 4, 5}, 1);
  const Tensor added = Tensor::integers<float>({3, 2, 2, 5}, 2);
  const Tensor lengths = Tensor::of<int64_t>({3}, {4, 0, 3});
  for (const bool scatters : {false, true}) {
    const Tensor out = Tensor::filled<float>({3, 2, 6, 5}, 9);
    EXPECT_OK(runKernel("CacheAppend",
                        {scatters ? past.scattered() : past,
                         scatters ? added.scattered() : added, lengths},
                        {out}));
    forEach(out.dims(), [&](const Dims &at) {
      const int64_t entry = at[2] - lengths.at<int64_t>({at[0]});
      float expected = 0;
      if (entry < 0)
        expected = past.at<float>(at);
      else if (entry < 2)
        expected = added.at<float>({at[0], at[1], entry, at[3]});
      EXPECT_EQ(out.at<float>(at), expected);
    });
  }
}

TEST(CacheAppend, EmptyPast) {
  const Tensor added = Tensor::integers<float>({1, 2, 3, 4});
  const Tensor out = Tensor::filled<float>({1, 2, 3, 4}, 9);
  EXPECT_OK(runKernel("CacheAppend",
                      {Tensor::integers<float>({1, 2, 0, 4}), added,
                       Tensor::of<int32_t>({1}, {0})},
                      {out}));
  EXPECT_EQ(out.values<float>(), added.values<float>());
}

TEST(CacheAppend, ALengthThatDoesNotFitIsAnError) {
  const auto run = [](int64_t length, int64_t capacity) {
    return runKernel("CacheAppend",
                     {Tensor::integers<float>({1, 1, 4, 2}),
                      Tensor::integers<float>({1, 1, 2, 2}),
                      Tensor::of<int64_t>({1}, {length})},
                     {Tensor::filled<float>({1, 1, capacity, 2}, 0)})
        .message();
  };
  EXPECT_EQ(run(2, 4), "");
  EXPECT_EQ(run(3, 4), "CacheAppend: row 0 holds 3 entries: expected 0 to 2");
  EXPECT_EQ(run(5, 8), "CacheAppend: row 0 holds 5 entries: expected 0 to 4");
  EXPECT_EQ(run(-1, 8), "CacheAppend: row 0 holds -1 entries: expected 0 to 4");
}

} // namespace
} // namespace shardc::runtime::host
