#include "runtime/kernels/host/simd/Loops.h"
#include "runtime/kernels/quant/Quantized.h"
#include "runtime/launch/HostThreads.h"
#include "tests/unit/kernels/KernelTest.h"

#include <cmath>
#include <limits>

#include <algorithm>

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

/// Bytes seen as elements of half a byte.
Tensor halves(artifact::ElementType element, const Dims &dims,
              const std::vector<uint8_t> &bytes) {
  Tensor tensor = Tensor::of<uint8_t>({int64_t(bytes.size())}, bytes);
  tensor.view.element = element;
  tensor.view.rank = static_cast<int>(dims.size());
  int64_t stride = 1;
  for (size_t d = dims.size(); d-- > 0;) {
    tensor.view.dims[d] = dims[d];
    tensor.view.strides[d] = stride;
    stride *= dims[d];
  }
  return tensor;
}

TEST(DequantizeLinear, HalvesOfBytes) {
  const Tensor x =
      halves(artifact::ElementType_Int4, {3, 3}, {0x10, 0xf7, 0x28, 0x9e, 5});
  const Tensor one = Tensor::of<float>({1, 1}, {2}).broadcast({3, 3});
  const Tensor out = Tensor::filled<float>({3, 3}, 9);
  EXPECT_OK(runKernel("DequantizeLinear", {x, one}, {out}));
  EXPECT_EQ(out.values<float>(),
            (std::vector<float>{0, 2, 14, -2, -16, 4, -4, -14, 10}));
  // Columns, the second row of them being in the middle of a byte.
  Tensor part = x;
  part.view.element = artifact::ElementType_UInt4;
  part.view.data += 1;
  part.view.skipped = 1;
  part.view.dims[0] = 2;
  const Tensor zero =
      halves(artifact::ElementType_UInt4, {1, 1}, {8}).broadcast({3, 2});
  const Tensor few = Tensor::filled<float>({3, 2}, 9);
  EXPECT_OK(runKernel("DequantizeLinear",
                      {part.permuted({1, 0}),
                       Tensor::of<float>({1, 1}, {1}).broadcast({3, 2}), zero},
                      {few}));
  EXPECT_EQ(few.values<float>(), (std::vector<float>{7, 6, 0, 1, -6, -3}));
}

TEST(DequantizeLinear, QuartersOfBytes) {
  Tensor x = halves(artifact::ElementType_UInt2, {3, 3}, {0xe4, 0x1b, 2});
  const Tensor one = Tensor::of<float>({1, 1}, {2}).broadcast({3, 3});
  const Tensor out = Tensor::filled<float>({3, 3}, 9);
  EXPECT_OK(runKernel("DequantizeLinear", {x, one}, {out}));
  EXPECT_EQ(out.values<float>(),
            (std::vector<float>{0, 2, 4, 6, 6, 4, 2, 0, 4}));
  x.view.element = artifact::ElementType_Int2;
  EXPECT_OK(runKernel("DequantizeLinear", {x, one}, {out}));
  EXPECT_EQ(out.values<float>(),
            (std::vector<float>{0, 2, -4, -2, -2, -4, 2, 0, -4}));
}

TEST(DequantizeLinear, NumbersAsZeroPoints) {
  const Tensor x = Tensor::of<uint8_t>({1, 4}, {0, 1, 2, 3});
  const Tensor out = Tensor::filled<float>({1, 4}, 9);
  EXPECT_OK(runKernel("DequantizeLinear",
                      {x, Tensor::of<float>({1, 2}, {2, 4}),
                       Tensor::of<float>({1, 2}, {0.5, 1.5})},
                      {out},
                      Attributes().ints("axis", {1}).ints("block_size", {2})));
  EXPECT_EQ(out.values<float>(), (std::vector<float>{-1, 1, 2, 6}));
}

TEST(DequantizeLinear, EightBitsOfFloat) {
  Tensor x = Tensor::of<uint8_t>({2, 3}, {0x38, 0xc0, 0x01, 0x7e, 0x80, 0x7f});
  x.view.element = artifact::ElementType_Float8E4M3FN;
  const Tensor out = Tensor::filled<float>({2, 3}, 9);
  EXPECT_OK(runKernel(
      "DequantizeLinear",
      {x, Tensor::of<float>({2, 1}, {0.5, 2}).broadcast({2, 3})}, {out}));
  const auto values = out.values<float>();
  EXPECT_EQ(std::vector<float>(values.begin(), values.end() - 1),
            (std::vector<float>{0.5, -1, std::ldexp(1.f, -10), 896, 0}));
  EXPECT_TRUE(std::isnan(values.back()));
  x.view.element = artifact::ElementType_Float8E8M0;
  EXPECT_FALSE(runKernel("DequantizeLinear", {x, out}, {out}).isOk());
}

TEST(Gather, HalvesOfBytes) {
  const Tensor x =
      halves(artifact::ElementType_UInt4, {3, 3}, {0x10, 0x32, 0x54, 0x76, 8});
  const Tensor out = halves(artifact::ElementType_UInt4, {2, 3}, {0, 0, 0});
  EXPECT_OK(runKernel("Gather", {x, Tensor::of<int64_t>({2}, {1, -1})}, {out},
                      Attributes().ints("axis", {0})));
  Tensor bytes = out;
  bytes.view.element = artifact::ElementType_UInt8;
  bytes.view.rank = 1;
  bytes.view.dims[0] = 3;
  bytes.view.strides[0] = 1;
  EXPECT_EQ(bytes.values<uint8_t>(), (std::vector<uint8_t>{0x43, 0x65, 0x87}));
}

/// Against the product with what DequantizeLinear makes of the weights, which
/// have more columns than a panel, for one and for several matrices of them.
TEST(MatMulDequantized, IsTheProductOfTheNumbers) {
  const int64_t k = 24, n = 150;
  for (const Dims &batch : {Dims{1}, Dims{3}})
    for (const bool swaps : {false, true}) {
      const int64_t e = batch[0];
      const Tensor a = Tensor::integers<float>({3, 5, k}, 1);
      const Tensor b =
          Tensor::integers<int8_t>(swaps ? Dims{e, n, k} : Dims{e, k, n}, 2);
      const Tensor scale =
          Tensor::integers<float>(swaps ? Dims{e, n, 3} : Dims{e, 3, n}, 3);
      const auto seen = [&](const Tensor &t, int64_t rows) {
        return (swaps ? t.permuted({0, 2, 1}) : t).broadcast({3, rows, n});
      };
      const Tensor numbers =
          Tensor::filled<float>(swaps ? Dims{e, n, k} : Dims{e, k, n}, 9);
      EXPECT_OK(runKernel(
          "DequantizeLinear", {b, scale}, {numbers},
          Attributes().ints("axis", {swaps ? 2 : 1}).ints("block_size", {8})));
      const Tensor expected = Tensor::filled<float>({3, 5, n}, 9);
      EXPECT_OK(runKernel("MatMul", {a, seen(numbers, k)}, {expected}));
      const Tensor out = Tensor::filled<float>({3, 5, n}, 9);
      EXPECT_OK(
          runKernel("MatMulDequantized", {a, seen(b, k), seen(scale, 3)}, {out},
                    Attributes().ints("axis", {1}).ints("block_size", {8})));
      EXPECT_EQ(out.values<float>(), expected.values<float>());
    }
}

/// Bytes 0x38 + n are 1 + n/8 in E4M3FN, 0x3c + n are 1 + n/4 in E5M2.
TEST(MatMulFloat8, ScalesRowsAndColumns) {
  const int64_t m = 3, k = 20, n = 70;
  Tensor a = Tensor::filled<uint8_t>({2, m, k}, 0),
         b = Tensor::filled<uint8_t>({n, k}, 0);
  const auto fill = [](Tensor &bytes, int one, int kinds, auto element) {
    for (int64_t i = 0; i < bytes.view.numElements(); ++i)
      bytes.view.as<uint8_t>()[i] = uint8_t(one + i * 5 % kinds);
    bytes.view.element = element;
  };
  fill(a, 0x38, 8, artifact::ElementType_Float8E4M3FN);
  fill(b, 0x3c, 4, artifact::ElementType_Float8E5M2);
  const Tensor scaleA = Tensor::integers<float>({m, 1}, 1),
               scaleB = Tensor::integers<float>({n}, 2);
  const Tensor out = Tensor::filled<float>({2, m, n}, 9);
  EXPECT_OK(
      runKernel("MatMulFloat8",
                {a, b.permuted({1, 0}).broadcast({2, k, n}),
                 scaleA.broadcast({2, m, k}), scaleB.broadcast({2, k, n})},
                {out}));
  forEach(out.dims(), [&](const Dims &at) {
    double sum = 0;
    for (int64_t l = 0; l < k; ++l)
      sum += (1 + (a.at<uint8_t>({at[0], at[1], l}) - 0x38) / 8.0) *
             (1 + (b.at<uint8_t>({at[2], l}) - 0x3c) / 4.0);
    EXPECT_EQ(out.at<float>(at),
              sum * scaleA.at<float>({at[1], 0}) * scaleB.at<float>({at[2]}));
  });
  EXPECT_FALSE(runKernel("MatMulFloat8",
                         {a, b.permuted({1, 0}).broadcast({2, k, n}),
                          Tensor::integers<float>({k}).broadcast({2, m, k}),
                          scaleB.broadcast({2, k, n})},
                         {out})
                   .isOk());
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

/// Dense rows go another way than others.
template <typename Q> void checkDenseQuantizing() {
  const int64_t n = 700;
  const Tensor x = Tensor::filled<float>({2, n}, 0);
  uint32_t seed = 1;
  for (int64_t i = 0; i < 2 * n; ++i) {
    seed = seed * 1664525u + 1013904223u;
    x.view.as<float>()[i] = float(int32_t(seed >> 8) % 4000 - 2000) / 8 *
                            (i % 17 == 0  ? 1e6f
                             : i % 5 == 0 ? 100
                                          : 1);
  }
  x.view.as<float>()[3] = -std::numeric_limits<float>::infinity();
  x.view.as<float>()[5] = std::nanf("");
  for (float step : {1.f, 0.25f, 0.37f, 1e-3f, 0.f}) {
    const Tensor scale = Tensor::of<float>({1, 1}, {step}).broadcast({2, n});
    const Tensor zero = Tensor::of<Q>({1, 1}, {3}).broadcast({2, n});
    const Tensor dense = Tensor::filled<Q>({2, n}, 9);
    const Tensor other = Tensor::filled<Q>({n, 2}, 9).permuted({1, 0});
    EXPECT_OK(runKernel("QuantizeLinear", {x, scale, zero}, {dense}));
    EXPECT_OK(runKernel("QuantizeLinear", {x, scale, zero}, {other}));
    EXPECT_EQ(dense.values<Q>(), other.values<Q>()) << "step " << step;
  }
}

TEST(QuantizeLinear, DenseRowsGiveTheSame) {
  checkDenseQuantizing<int8_t>();
  checkDenseQuantizing<uint8_t>();
  checkDenseQuantizing<int16_t>();
  checkDenseQuantizing<uint16_t>();
}

/// A scale and a zero point for each column, of all processors; what the plain
/// definition gives.
template <typename Q> void checkColumns() {
  const int64_t n = 337;
  const Tensor x = Tensor::filled<float>({n}, 0), scales = x.copy();
  const Tensor zeros = Tensor::filled<Q>({n}, 0);
  uint32_t seed = 1;
  for (int64_t i = 0; i < n; ++i) {
    seed = seed * 1664525u + 1013904223u;
    x.view.as<float>()[i] = float(int32_t(seed >> 8) % 4000 - 2000) / 8;
    scales.view.as<float>()[i] = i % 9 == 0 ? 0.f : i % 4 == 0 ? 0.25f : 0.37f;
    zeros.view.as<Q>()[i] = Q(seed >> 20);
  }
  x.view.as<float>()[3] = -std::numeric_limits<float>::infinity();
  x.view.as<float>()[5] = std::nanf("");
  for (const Loops *each : supportedLoops())
    for (bool hasColumns : {false, true})
      for (bool hasZeros : {false, true}) {
        const Tensor out = Tensor::filled<Q>({n}, 9);
        QuantizedRow row;
        row.x = x.view.as<float>();
        row.count = n;
        row.hasColumns = hasColumns;
        row.scales = scales.view.as<float>() + 1;
        row.zeros = hasZeros ? zeros.view.data : nullptr;
        row.to = out.view.data;
        row.count = n - 1;
        each->quantizeRow.template of<Q>()(row);
        for (int64_t i = 0; i + 1 < n; ++i)
          ASSERT_EQ(out.at<Q>({i}),
                    quantizeOne<Q>(
                        x.at<float>({i}),
                        scales.at<float>({1 + hasColumns * i}),
                        hasZeros ? float(zeros.at<Q>({hasColumns * i})) : 0.f))
              << i;
      }
}

TEST(QuantizeLinear, LoopsOfEveryProcessor) {
  checkColumns<int8_t>();
  checkColumns<uint8_t>();
  checkColumns<int16_t>();
  checkColumns<uint16_t>();
}

TEST(QuantizeLinear, ThreadsShareARow) {
  const Tensor x = Tensor::integers<float>({7, 20011}, 3);
  const Tensor scale = Tensor::filled<float>({1, 1}, 0.37f);
  const Tensor zero = Tensor::filled<uint8_t>({1, 1}, 9);
  for (const int threads : {1, 3}) {
    setHostThreads(threads);
    const Tensor out = Tensor::filled<uint8_t>({7, 20011}, 77);
    EXPECT_OK(runKernel(
        "QuantizeLinear",
        {x, scale.broadcast({7, 20011}), zero.broadcast({7, 20011})}, {out}));
    forEach(out.dims(), [&](const Dims &at) {
      const float q = std::nearbyint(x.at<float>(at) / 0.37f) + 9;
      ASSERT_EQ(out.at<uint8_t>(at), uint8_t(std::clamp(q, 0.f, 255.f)));
    });
  }
  setHostThreads(1);
}

/// Bytes times their scales: the sum of integers, scaled in double, rounded once.
TEST(MatMulQuantized, IsTheScaledSumOfIntegers) {
  const int64_t k = 200;
  for (const int64_t m : {1, 3, 20})
    for (const int64_t n : {5, 70})
      for (const bool packs : {false, true}) {
        Tensor a = Tensor::filled<uint8_t>({2, m, k}, 0);
        Tensor b = Tensor::filled<int8_t>({n, k}, 0);
        for (int64_t i = 0; i < a.view.numElements(); ++i)
          a.view.as<uint8_t>()[i] = uint8_t(i * 37 % 256);
        for (int64_t i = 0; i < b.view.numElements(); ++i)
          b.view.as<int8_t>()[i] = int8_t(i * 91 % 256 - 128);
        const Tensor scaleA = Tensor::of<float>({1, 1}, {0.0173f});
        const Tensor zeroA = Tensor::of<uint8_t>({1, 1}, {uint8_t(113)});
        Tensor scaleB = Tensor::filled<float>({n}, 0);
        Tensor zeroB = Tensor::filled<int8_t>({n}, 0);
        for (int64_t j = 0; j < n; ++j) {
          scaleB.view.as<float>()[j] = 0.003f + 0.0007f * float(j);
          zeroB.view.as<int8_t>()[j] = int8_t(j - 3);
        }
        const auto ofB = [&](const Tensor &t) {
          return t.broadcast({2, k, n});
        };
        const Tensor out = Tensor::filled<float>({2, m, n}, 9);
        EXPECT_OK((packs ? runPacked : runKernel)(
            "MatMulQuantized",
            {a, ofB(b.permuted({1, 0})), scaleA.broadcast({2, m, k}),
             ofB(scaleB), zeroA.broadcast({2, m, k}), ofB(zeroB)},
            {out}, {}));
        forEach(out.dims(), [&](const Dims &at) {
          int64_t sum = 0;
          for (int64_t l = 0; l < k; ++l)
            sum += (a.at<uint8_t>({at[0], at[1], l}) - 113) *
                   (b.at<int8_t>({at[2], l}) - zeroB.at<int8_t>({at[2]}));
          ASSERT_EQ(out.at<float>(at),
                    float(double(sum) *
                          (double(0.0173f) * scaleB.at<float>({at[2]}))));
        });
      }
}

/// The largest sums that 32 bits hold, and longer ones, with and without room.
TEST(MatMulQuantized, SumsLongerThan32BitsHold) {
  const Tensor zero = Tensor::of<uint8_t>({1, 1}, {uint8_t(255)});
  const Tensor none = Tensor::of<uint8_t>({1, 1}, {uint8_t(0)});
  const Tensor one = Tensor::of<float>({1, 1}, {1.f});
  for (const int64_t k : {33025, 33026, 70000})
    for (const bool packs : {false, true}) {
      const Tensor a = Tensor::filled<uint8_t>({3, k}, 255);
      const Tensor b = Tensor::filled<uint8_t>({k, 2}, 0);
      const Tensor out = Tensor::filled<float>({2, 3}, 9).permuted({1, 0});
      EXPECT_OK((packs ? runPacked : runKernel)(
          "MatMulQuantized",
          {a, b, one.broadcast({3, k}), one.broadcast({k, 2}),
           none.broadcast({3, k}), zero.broadcast({k, 2})},
          {out}, {}));
      forEach(out.dims(), [&](const Dims &at) {
        EXPECT_FLOAT_EQ(out.at<float>(at), float(-255. * 255. * double(k)));
      });
    }
}

TEST(MatMulQuantized, RefusesScalesAlongTheSum) {
  const Tensor a = Tensor::filled<uint8_t>({2, 3}, 1);
  EXPECT_FALSE(runKernel("MatMulQuantized",
                         {a, a.permuted({1, 0}),
                          Tensor::integers<float>({3}).broadcast({2, 3}),
                          Tensor::of<float>({1, 1}, {1.f}).broadcast({3, 2})},
                         {Tensor::filled<float>({2, 2}, 9)})
                   .isOk());
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
