#include "tests/unit/kernels/KernelTest.h"

#include <cmath>
#include <limits>

namespace shardc::runtime::host {
namespace {

TEST(DequantizeLinear, OneScaleOrOneForEachColumn) {
  const Tensor x = Tensor::of<uint8_t>({2, 3}, {0, 1, 255, 128, 7, 200});
  const Tensor columns = Tensor::of<float>({3}, {0.5, 2, 0.25});
  const Tensor zeros = Tensor::of<uint8_t>({3}, {1, 0, 128});
  for (const Tensor &data : {x, x.scattered()}) {
    const Tensor out = Tensor::filled<float>({2, 3}, 9);
    EXPECT_OK(runKernel(
        "DequantizeLinear",
        {data, columns.broadcast({2, 3}), zeros.broadcast({2, 3})}, {out}));
    EXPECT_EQ(out.values<float>(),
              (std::vector<float>{-0.5, 2, 31.75, 63.5, 14, 18}));
    EXPECT_OK(runKernel("DequantizeLinear",
                        {data, Tensor::of<float>({1}, {2}).broadcast({2, 3})},
                        {out}));
    EXPECT_EQ(out.values<float>(),
              (std::vector<float>{0, 2, 510, 256, 14, 400}));
  }
}

/// Six heads of 4, blocks of 3: rank 1 of 2 holds heads 3 to 5.
TEST(DequantizeLinear, BlocksThatThePartOfARankCuts) {
  const Tensor x = Tensor::integers<int8_t>({24, 2});
  const Tensor scale = Tensor::integers<float>({8, 2}, 5);
  const Tensor whole = Tensor::filled<float>({24, 2}, 9);
  EXPECT_OK(runKernel("DequantizeLinear", {x, scale}, {whole},
                      Attributes().ints("axis", {0}).ints("block_size", {3})));
  forEach({24, 2}, [&](const Dims &at) {
    EXPECT_EQ(whole.at<float>(at),
              x.at<int8_t>(at) * scale.at<float>({at[0] / 3, at[1]}));
  });
  const Tensor part = Tensor::filled<float>({12, 2}, 9);
  EXPECT_OK(runKernel("DequantizeLinear", {x.slice(0, 12, 12), scale}, {part},
                      Attributes()
                          .ints("axis", {0})
                          .ints("block_size", {3})
                          .ints("starts", {3, 0})
                          .ints("locals", {3, 4})
                          .ints("globals", {6, 4})));
  forEach({12, 2}, [&](const Dims &at) {
    EXPECT_EQ(part.at<float>(at), whole.at<float>({at[0] + 12, at[1]}));
  });
  EXPECT_EQ(runKernel("DequantizeLinear", {x, scale.slice(0, 0, 7)}, {whole},
                      Attributes().ints("axis", {0}).ints("block_size", {3}))
                .message(),
            "DequantizeLinear: has no scale for block 7");
}

TEST(QuantizeLinear, RoundsHalvesToEvenAndClamps) {
  const float far = std::numeric_limits<float>::infinity();
  const Tensor x = Tensor::of<float>(
      {8}, {0.5, 1.5, -0.5, -1.5, 1000, -1000, far, std::nanf("")});
  const Tensor scale = Tensor::of<float>({1}, {1}).broadcast({8});
  const Tensor zero = Tensor::of<int8_t>({1}, {10}).broadcast({8});
  const Tensor out = Tensor::filled<int8_t>({8}, 9);
  EXPECT_OK(runKernel("QuantizeLinear", {x, scale, zero}, {out}));
  EXPECT_EQ(out.values<int8_t>(),
            (std::vector<int8_t>{10, 12, 10, 8, 127, -128, 127, 10}));
}

TEST(MatMulInteger, ZeroPointsOfRowsAndColumns) {
  const int64_t m = 3, k = 70, n = 130;
  const Tensor a = Tensor::integers<uint8_t>({2, m, k}, 1);
  const Tensor b = Tensor::integers<int8_t>({k, n}, 2);
  const Tensor zeroA = Tensor::of<uint8_t>({m, 1}, {255, 0, 3});
  const Tensor zeroB = Tensor::integers<int8_t>({n}, 3);
  for (const Tensor &weights : {b, b.scattered()}) {
    const Tensor out = Tensor::filled<int32_t>({2, m, n}, 9);
    EXPECT_OK(
        runKernel("MatMulInteger",
                  {a, weights.broadcast({2, k, n}), zeroA.broadcast({2, m, 1}),
                   zeroB.broadcast({2, 1, n})},
                  {out}));
    forEach(out.dims(), [&](const Dims &at) {
      int64_t sum = 0;
      for (int64_t l = 0; l < k; ++l)
        sum += (int64_t(a.at<uint8_t>({at[0], at[1], l})) -
                zeroA.at<uint8_t>({at[1], 0})) *
               (int64_t(b.at<int8_t>({l, at[2]})) - zeroB.at<int8_t>({at[2]}));
      EXPECT_EQ(out.at<int32_t>(at), sum);
    });
  }
  const Tensor nothing = Tensor::filled<int32_t>({1, 2}, 9);
  EXPECT_OK(runKernel(
      "MatMulInteger",
      {Tensor::integers<int8_t>({1, 0}), Tensor::integers<int8_t>({0, 2})},
      {nothing}));
  EXPECT_EQ(nothing.values<int32_t>(), (std::vector<int32_t>{0, 0}));
}

} // namespace
} // namespace shardc::runtime::host
