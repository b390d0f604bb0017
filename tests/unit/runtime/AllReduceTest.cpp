//===- AllReduceTest.cpp - Sums of threads and processes ------------------===//
#include "tests/unit/runtime/CollectiveRanks.h"

#include "runtime/base/Float16.h"

#include <cmath>
#include <cstring>
#include <random>
#include <type_traits>

namespace shardc::runtime {
namespace {

template <typename T> struct Element;
template <> struct Element<float> {
  static constexpr auto type = ElementType_Float32;
};
template <> struct Element<double> {
  static constexpr auto type = ElementType_Float64;
};
template <> struct Element<int32_t> {
  static constexpr auto type = ElementType_Int32;
};
template <> struct Element<int64_t> {
  static constexpr auto type = ElementType_Int64;
};

/// Sums small integers, so every order gives the same; sizes take both ways.
/// Types make a difference to the sums only, which all communicators share.
template <typename T> void sumsExactly(bool inPlace, bool strided) {
  auto run = [](int ranks, auto body) {
    if (std::is_same_v<T, float>)
      onRanks(ranks, body);
    else
      onThreads(ranks, body);
  };
  for (int ranks : {1, 2, 3, 8})
    for (int64_t n : {0, 1, 7, 64, 1000, 40000}) {
      const int64_t step = strided ? 2 : 1;
      std::vector<std::vector<T>> in(static_cast<size_t>(ranks)), out = in;
      run(ranks, [&](Communicator &communicator) {
        auto self = static_cast<size_t>(communicator.index());
        in[self].resize(static_cast<size_t>(n * step));
        for (int64_t i = 0; i < n; ++i)
          in[self][static_cast<size_t>(i * step)] =
              static_cast<T>((i + 1) % 50 * (communicator.index() + 1));
        out[self].assign(static_cast<size_t>(n), T{0});
        int64_t dims[] = {n};
        TensorView input = packedView(in[self].data(), Element<T>::type, dims);
        input.strides[0] = step;
        TensorView output =
            inPlace ? input
                    : packedView(out[self].data(), Element<T>::type, dims);
        Status status =
            communicator.allReduce(input, output, ReduceKind::Sum, kSite);
        ASSERT_TRUE(status.isOk()) << status.message();
        for (int64_t i = 0; i < n; ++i)
          ASSERT_EQ(output.as<T>()[i * output.strides[0]],
                    static_cast<T>((i + 1) % 50 * ranks * (ranks + 1) / 2));
      });
    }
}

TEST(AllReduce, sumsExactly) {
  sumsExactly<float>(false, false);
  sumsExactly<double>(false, false);
  sumsExactly<int32_t>(false, false);
  sumsExactly<int64_t>(false, false);
}

TEST(AllReduce, worksInPlace) { sumsExactly<float>(true, false); }

TEST(AllReduce, takesStridedViews) {
  sumsExactly<float>(false, true);
  sumsExactly<float>(true, true);
}

TEST(AllReduce, givesIdenticalBits) {
  for (int64_t n : {1000, 100000}) {
    const int ranks = 8;
    std::vector<std::vector<float>> out(ranks);
    onRanks(ranks, [&](Communicator &communicator) {
      std::mt19937 random(static_cast<unsigned>(communicator.index()));
      std::vector<float> in(static_cast<size_t>(n));
      for (float &x : in)
        x = std::ldexp(static_cast<float>(random()) / 1e9f,
                       static_cast<int>(random() % 40));
      auto &mine = out[static_cast<size_t>(communicator.index())];
      mine.resize(in.size());
      int64_t dims[] = {n};
      ASSERT_TRUE(
          communicator
              .allReduce(packedView(in.data(), ElementType_Float32, dims),
                         packedView(mine.data(), ElementType_Float32, dims),
                         ReduceKind::Sum, kSite)
              .isOk());
    });
    for (int rank = 1; rank < ranks; ++rank)
      EXPECT_EQ(0, std::memcmp(out[0].data(),
                               out[static_cast<size_t>(rank)].data(),
                               static_cast<size_t>(n) * 4));
  }
}

TEST(AllReduce, accumulatesHalvesInFloat) {
  // 1 + 2^-11 eight times: in f16 each sum would lose the small part.
  for (bool bfloat : {false, true})
    onRanks(8, [&](Communicator &communicator) {
      float x = communicator.index() == 0 ? 256.0f : 0.25f;
      uint16_t in = bfloat ? toBFloat(x).bits : toHalf(x).bits, out = 0;
      auto type = bfloat ? ElementType_BFloat16 : ElementType_Float16;
      ASSERT_TRUE(communicator
                      .allReduce(packedView(&in, type, {}),
                                 packedView(&out, type, {}), ReduceKind::Sum,
                                 kSite)
                      .isOk());
      float expected = 256.0f + 7 * 0.25f;
      EXPECT_EQ(out, bfloat ? toBFloat(expected).bits : toHalf(expected).bits);
    });
}

TEST(AllReduce, maxAndMinPropagateNaN) {
  onRanks(3, [&](Communicator &communicator) {
    const float nan = std::nanf("");
    float values[3][3] = {{1, nan, -1}, {2, 5, -2}, {0, 6, nan}};
    float out[3];
    int64_t dims[] = {3};
    TensorView input =
        packedView(values[communicator.index()], ElementType_Float32, dims);
    TensorView output = packedView(out, ElementType_Float32, dims);
    ASSERT_TRUE(
        communicator.allReduce(input, output, ReduceKind::Max, kSite).isOk());
    EXPECT_EQ(out[0], 2);
    EXPECT_TRUE(std::isnan(out[1]));
    EXPECT_TRUE(std::isnan(out[2]));
    ASSERT_TRUE(
        communicator.allReduce(input, output, ReduceKind::Min, kSite).isOk());
    EXPECT_EQ(out[0], 0);
    bool flag = communicator.index() == 1, any = false;
    ASSERT_TRUE(communicator
                    .allReduce(packedView(&flag, ElementType_Bool, {}),
                               packedView(&any, ElementType_Bool, {}),
                               ReduceKind::Max, kSite)
                    .isOk());
    EXPECT_TRUE(any);
  });
}

} // namespace
} // namespace shardc::runtime
