//===- ByteProductTest.cpp - Activations in 8 bits ------------------------===//

#include "runtime/artifact/ElementNames.h"
#include "runtime/kernels/host/simd/ByteLoops.h"
#include "tests/unit/kernels/FieldWeights.h"

#include <limits>

namespace shardc::runtime::host {
namespace {

Attributes rounding(const Case &c) {
  return Attributes()
      .ints("axis", {0})
      .ints("block_size", {c.block})
      .ints("activation_bits", {8});
}

struct Product {
  explicit Product(const Case &c)
      : c(c), w(c), scale(fractions(w.parameterDims(), 2)) {}

  Tensor run(const Tensor &a) const {
    const Tensor out = Tensor::filled<float>({a.view.dims[0], c.n}, 9);
    const Tensor packed = out.copy();
    for (const Tensor &each : {out, packed})
      EXPECT_OK((each.view.data == out.view.data ? runKernel : runPacked)(
          "MatMulDequantized",
          {a, seen(c, w.data.tensor), seen(c, scale), seen(c, w.zeros.tensor)},
          {each}, rounding(c)));
    EXPECT_EQ(packed.values<uint32_t>(), out.values<uint32_t>()); // NaN, too
    return packed;
  }
  double weightAt(int64_t l, int64_t j) const {
    const Dims at =
        c.hasDenseColumns ? Dims{j, w.blockOf(l)} : Dims{w.blockOf(l), j};
    return (w.dataAt(l, j) - w.zeroAt(l, j)) * double(scale.at<float>(at));
  }

  Case c;
  Weights w;
  Tensor scale;
};

/// Half a step of each block's activations, for all of its weights.
TEST(ByteProduct, ErrsByHalfAStep) {
  for (ElementType element : kElements)
    for (bool hasDenseColumns : {true, false})
      for (int64_t m : {1, 9})
        for (int64_t n : {1, 70})
          for (int64_t block : {16, 32, 128})
            for (int64_t k : {3, 32, 500}) {
              const Case c = {element, hasDenseColumns, m, k, n, block};
              SCOPED_TRACE(testing::Message()
                           << artifact::elementName(element) << " " << m
                           << " x " << k << " x " << n << ", blocks of "
                           << block << (hasDenseColumns ? ", columns" : ""));
              const Product product(c);
              const Tensor a = fractions({m, k}, 1);
              const Tensor out = product.run(a);
              for (int64_t i = 0; i < m; ++i)
                for (int64_t j = 0; j < n; ++j) {
                  double sum = 0, size = 0, bound = 0;
                  for (int64_t first = 0; first < k; first += block) {
                    double most = 0, weights = 0;
                    for (int64_t l = first; l < std::min(first + block, k);
                         ++l) {
                      const double x = a.at<float>({i, l});
                      const double weight = product.weightAt(l, j);
                      sum += x * weight;
                      size += std::fabs(x * weight);
                      most = std::max(most, std::fabs(x));
                      weights += std::fabs(weight);
                    }
                    bound += most / 254 * weights;
                  }
                  ASSERT_NEAR(out.at<float>({i, j}), sum,
                              1.001 * bound + 1e-5 * size)
                      << "at " << i << ", " << j;
                }
            }
}

/// Nothing is rounded where steps are 1: what is left are sums of floats.
TEST(ByteProduct, IntegersAreExact) {
  for (ElementType element : kElements)
    for (int64_t m : {1, 2, 5, 33}) {
      Case c = {element, true, m, 320, 70, 64};
      Product product(c);
      product.scale = Tensor::integers<float>(product.w.parameterDims(), 2);
      const Tensor a = Tensor::filled<float>({m, c.k}, 0);
      uint32_t seed = 3;
      for (int64_t i = 0; i < m * c.k; ++i) {
        seed = seed * 1664525u + 1013904223u;
        a.view.as<float>()[i] =
            float(i % 64 == 5 ? -127 : int(seed >> 16) % 255 - 127);
      }
      const Tensor out = product.run(a);
      forEach(out.dims(), [&](const Dims &at) {
        double sum = 0;
        for (int64_t l = 0; l < c.k; ++l)
          sum += double(a.at<float>({at[0], l})) * product.weightAt(l, at[1]);
        ASSERT_EQ(out.at<float>(at), sum);
      });
    }
}

TEST(ByteProduct, BitsOfARowDoNotDependOnTheOthers) {
  for (ElementType element : kElements) {
    const Product product({element, true, 61, 900, 150, 32});
    const Tensor a = fractions({61, 900}, 1);
    const Tensor together = product.run(a);
    for (int64_t rows : {1, 2, 3, 4, 5, 8, 13})
      EXPECT_EQ(product.run(a.slice(0, 20, rows)).values<float>(),
                together.slice(0, 20, rows).values<float>())
          << rows << " rows";
  }
}

/// Many rows may go through tiles, which is another way to the same bits: of
/// blocks of half a tile, one, and several, and of those that have no tiles.
TEST(ByteProduct, ManyRowsGiveTheBitsOfFew) {
  for (ElementType element : kElements)
    for (int64_t block : {16, 32, 64, 96, 128, 256})
      for (int64_t n : {5, 16, 77}) {
        const Product product({element, true, 50, 768, n, block});
        const Tensor a = fractions({50, 768}, 1);
        const Tensor together = product.run(a);
        for (int64_t first : {0, 13, 40})
          EXPECT_EQ(product.run(a.slice(0, first, 9)).values<float>(),
                    together.slice(0, first, 9).values<float>())
              << "blocks of " << block << ", " << n << " columns";
      }
}

/// A scale for each column is one block, however deep, of the largest sums too.
TEST(ByteProduct, OneBlockOfManyRows) {
  constexpr int64_t m = 33, n = 70;
  for (ElementType element : kElements)
    for (int64_t k : {2048, 8191}) {
      const Case c = {element, true, m, k + k % 2, n, 0};
      const Product product(c);
      const Tensor scale = product.scale.permuted({1, 0}).broadcast({c.k, n});
      const Tensor zeros =
          product.w.zeros.tensor.permuted({1, 0}).broadcast({c.k, n});
      const Tensor a = Tensor::filled<float>({m, c.k}, 127);
      const auto run = [&](int64_t rows) {
        const Tensor out = Tensor::filled<float>({rows, n}, 9);
        EXPECT_OK(runPacked(
            "MatMulDequantized",
            {a.slice(0, 0, rows), seen(c, product.w.data.tensor), scale, zeros},
            {out}, Attributes().ints("activation_bits", {8})));
        return out;
      };
      const Tensor together = run(m);
      forEach(together.dims(), [&](const Dims &at) {
        double sum = 0;
        for (int64_t l = 0; l < c.k; ++l)
          sum += 127 * product.weightAt(l, at[1]);
        ASSERT_NEAR(together.at<float>(at), sum,
                    1e-5 * 127 * 256 * double(c.k));
      });
      for (int64_t rows : {1, 5, 17})
        EXPECT_EQ(run(rows).values<float>(),
                  together.slice(0, 0, rows).values<float>());
    }
}

TEST(ByteProduct, ActivationsOfAnyStrides) {
  const Product product({artifact::ElementType_UInt4, true, 6, 96, 20, 32});
  const Tensor a = fractions({6, 96}, 1);
  EXPECT_EQ(product.run(a.scattered()).values<float>(),
            product.run(a).values<float>());
}

/// A block of zeros, or of numbers next to it, and what is no number.
TEST(ByteProduct, ExtremeActivations) {
  const Product product({artifact::ElementType_Int8, true, 4, 64, 20, 32});
  const Tensor a = fractions({4, 64}, 1);
  for (int64_t l = 0; l < 32; ++l) {
    a.view.as<float>()[l] = 0;
    a.view.as<float>()[64 + l] = l % 2 ? 1e-40f : -1e-38f;
  }
  a.view.as<float>()[2 * 64 + 40] = std::numeric_limits<float>::infinity();
  a.view.as<float>()[3 * 64 + 3] = std::nanf("");
  const Tensor out = product.run(a);
  for (int64_t j = 0; j < 20; ++j) {
    for (int64_t i : {0, 1}) {
      double sum = 0;
      for (int64_t l = 32; l < 64; ++l)
        sum += double(a.at<float>({i, l})) * product.weightAt(l, j);
      EXPECT_NEAR(out.at<float>({i, j}), sum, 0.02 * 32 * 255);
      EXPECT_TRUE(std::isfinite(out.at<float>({i, j})));
    }
    for (int64_t i : {2, 3})
      EXPECT_TRUE(std::isnan(out.at<float>({i, j})));
  }
}

/// Also those that are not the fastest here, and the largest bytes.
TEST(ByteProduct, LoopsOfEveryProcessor) {
  const int64_t m = 7, n = 40, panels = 3, blockWords = 20;
  for (int parts : {1, 2, 4})
    for (int64_t lastWords : {20, 2}) {
      const int64_t words = blockWords + lastWords;
      const int64_t ofWord = 4 * parts, rows = words * ofWord;
      const int bits = 8 / parts;
      const int64_t blockRows = blockWords * ofWord;
      const auto placeOf = [&](int64_t l) {
        return l / ofWord * ofWord + l % parts * 4 + l % ofWord / parts;
      };
      std::vector<uint32_t> b(size_t(panels * words * 16));
      uint32_t seed = 1;
      for (uint32_t &word : b) {
        seed = seed * 1664525u + 1013904223u;
        word = seed % 5 == 0 ? 0xffffffffu : seed % 5 == 1 ? 0 : seed;
      }
      std::vector<int8_t> a(size_t(m * rows));
      for (int8_t &byte : a) {
        seed = seed * 1664525u + 1013904223u;
        const int value = int(seed >> 16) % 255 - 127;
        byte = int8_t(seed % 3 == 0 ? 127 : seed % 3 == 1 ? -127 : value);
      }
      std::vector<float> sums(size_t(m * 2), 0.f);
      for (int64_t i = 0; i < m * rows; ++i)
        sums[size_t(i / rows * 2 + (i % rows >= blockRows))] += a[size_t(i)];
      const Tensor scalesA = Tensor::integers<float>({m, 2}, 4);
      const Tensor scales = Tensor::integers<float>({panels, 2, 16}, 2);
      const Tensor zeros = Tensor::integers<float>({panels, 2, 16}, 3);
      ByteProduct product;
      product.m = m;
      product.n = n;
      product.a = {a.data(), rows, scalesA.view.as<float>(), sums.data(), 2};
      product.words = b.data();
      product.panelStep = words * 16;
      product.parts = parts;
      product.blocks = 2;
      product.blockWords = blockWords;
      product.lastWords = lastWords;
      product.scales = scales.view.as<float>();
      product.zeros = zeros.view.as<float>();
      product.scaleStep = 32;
      product.leadingC = n;
      for (const ByteLoops *each : supportedByteLoops())
        for (bool adds : {false, true}) {
          const Tensor c = Tensor::filled<float>({m, n}, 5);
          product.c = c.view.as<float>();
          product.adds = adds;
          each->multiply(product);
          for (int64_t i = 0; i < m; ++i)
            for (int64_t j = 0; j < n; ++j) {
              double sum = adds ? 5 : 0;
              for (int64_t l = 0; l < rows; ++l) {
                const int64_t block = l >= blockRows;
                const Dims at = {j / 16, block, j % 16};
                const uint32_t word =
                    b[size_t((j / 16 * words + l / ofWord) * 16 + j % 16)];
                const uint32_t field =
                    word >> (l % ofWord * bits) & ((1u << bits) - 1);
                sum += double(scales.at<float>(at)) *
                       scalesA.at<float>({i, block}) *
                       (double(field) - zeros.at<float>(at)) *
                       a[size_t(i * rows + placeOf(l))];
              }
              ASSERT_EQ(c.at<float>({i, j}), sum) << i << ", " << j;
            }
        }
    }
}

/// The bytes of every processor are those of the others.
TEST(ByteProduct, RoundingOfEveryProcessor) {
  const int64_t k = 75;
  const Tensor x = fractions({k}, 1);
  for (int bits : {2, 4, 8})
    for (const ByteLoops *each : supportedByteLoops()) {
      int8_t bytes[80];
      float scales[3], sums[3];
      each->quantize(x.view.as<float>(), k, 32, bits,
                     {bytes, 80, scales, sums, 3});
      for (int64_t b = 0; b < 3; ++b) {
        double sum = 0, most = 0;
        for (int64_t l = b * 32; l < std::min(k, b * 32 + 32); ++l) {
          const int64_t ofWord = 32 / bits, parts = 8 / bits;
          const int64_t at =
              l / ofWord * ofWord + l % parts * 4 + l % ofWord / parts;
          sum += bytes[at];
          most = std::max(most, std::fabs(double(x.at<float>({l}))));
          EXPECT_NEAR(bytes[at] * double(scales[b]), x.at<float>({l}),
                      0.5001 * scales[b]);
        }
        EXPECT_FLOAT_EQ(scales[b], float(most / 127));
        EXPECT_EQ(sums[b], sum);
      }
      for (int64_t at = k; bits == 8 && at < 76; ++at)
        EXPECT_EQ(bytes[at], 0);
    }
}

} // namespace
} // namespace shardc::runtime::host
