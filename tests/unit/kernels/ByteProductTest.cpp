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
    EXPECT_OK(runKernel(
        "MatMulDequantized",
        {a, seen(c, w.data.tensor), seen(c, scale), seen(c, w.zeros.tensor)},
        {out}, rounding(c)));
    return out;
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

/// Columns of whole chunks are multiplied where they lie, for few rows.
TEST(ByteProduct, DenseColumnsGiveTheSameBits) {
  for (ElementType element : kElements)
    for (int64_t n : {1, 16, 37})
      for (int64_t block : {32, 96, 480}) {
        const Product product({element, true, 9, 480, n, block});
        const Tensor a = fractions({9, 480}, 1);
        const Tensor together = product.run(a);
        for (int64_t rows : {1, 2, 3, 4})
          EXPECT_EQ(product.run(a.slice(0, 3, rows)).values<float>(),
                    together.slice(0, 3, rows).values<float>())
              << rows << " rows";
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
  for (bool areHalves : {true, false})
    for (int64_t lastWords : {20, 2}) {
      const int64_t words = blockWords + lastWords;
      std::vector<uint32_t> b(size_t(panels * words * 16));
      uint32_t seed = 1;
      for (uint32_t &word : b) {
        seed = seed * 1664525u + 1013904223u;
        word = seed % 5 == 0 ? 0xffffffffu : seed % 5 == 1 ? 0 : seed;
        word &= areHalves ? 0x0f0f0f0fu : 0xffffffffu;
      }
      std::vector<int8_t> a(size_t(m * words * 4));
      for (int8_t &byte : a) {
        seed = seed * 1664525u + 1013904223u;
        const int value = int(seed >> 16) % 255 - 127;
        byte = int8_t(seed % 3 == 0 ? 127 : seed % 3 == 1 ? -127 : value);
      }
      std::vector<float> sums(size_t(m * 2), 0.f);
      for (int64_t i = 0; i < m * words * 4; ++i)
        sums[size_t(i / (words * 4) * 2 +
                    (i % (words * 4) >= blockWords * 4))] += a[size_t(i)];
      const Tensor scalesA = Tensor::integers<float>({m, 2}, 4);
      const Tensor scales = Tensor::integers<float>({panels, 2, 16}, 2);
      const Tensor zeros = Tensor::integers<float>({panels, 2, 16}, 3);
      ByteProduct product;
      product.m = m;
      product.n = n;
      product.a = {a.data(), words * 4, scalesA.view.as<float>(), sums.data(),
                   2};
      product.words = b.data();
      product.panelStep = words * 16;
      product.areHalves = areHalves;
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
              for (int64_t l = 0; l < words * 4; ++l) {
                const int64_t block = l >= blockWords * 4;
                const Dims at = {j / 16, block, j % 16};
                const uint32_t word =
                    b[size_t((j / 16 * words + l / 4) * 16 + j % 16)];
                sum +=
                    double(scales.at<float>(at)) *
                    scalesA.at<float>({i, block}) *
                    (double(word >> (l % 4 * 8) & 255) - zeros.at<float>(at)) *
                    a[size_t(i * words * 4 + l)];
              }
              ASSERT_EQ(c.at<float>({i, j}), sum) << i << ", " << j;
            }
        }
    }
}

/// Of dense columns, also those that are not the fastest here, with the largest
/// bytes: chunks of two blocks of 96 rows.
TEST(ByteProduct, ColumnsOfEveryProcessor) {
  const int64_t k = 192, blockRows = 96;
  for (bool areHalves : {true, false})
    for (int64_t n : {16, 5})
      for (uint32_t flip : {0u, 0x88888888u}) {
        const int64_t columnBytes = (areHalves ? k / 2 : k) + 8;
        std::vector<uint8_t> b(size_t(16 * columnBytes));
        uint32_t seed = 1;
        for (uint8_t &byte : b) {
          seed = seed * 1664525u + 1013904223u;
          byte = seed % 5 == 0 ? 0xff : seed % 5 == 1 ? 0 : uint8_t(seed >> 16);
        }
        const auto weightAt = [&](int64_t l, int64_t j) {
          const uint8_t *column = b.data() + j * columnBytes;
          return areHalves ? ((column[l / 2] ^ flip) & 0xff) >> l % 2 * 4 & 15
                           : (column[l] ^ flip) & 0xff;
        };
        for (int64_t m : {1, 2, 3, 4}) {
          std::vector<int8_t> rows(size_t(m * k));
          std::vector<float> sums(size_t(m * 2), 0.f);
          for (int64_t i = 0; i < m * k; ++i) {
            seed = seed * 1664525u + 1013904223u;
            rows[size_t(i)] = int8_t(seed % 3 == 0   ? 127
                                     : seed % 3 == 1 ? -127
                                                     : int(seed >> 16) % 127);
            sums[size_t(i / blockRows)] += rows[size_t(i)];
          }
          const Tensor scalesA = Tensor::integers<float>({m, 2}, 4);
          const Tensor scales = Tensor::integers<float>({2, 16}, 2);
          const Tensor zeros = Tensor::integers<float>({2, 16}, 3);
          for (const ByteLoops *each : supportedByteLoops()) {
            std::vector<int8_t> a(rows);
            if (areHalves) // as quantize leaves them: even ones of each eight
              for (int64_t i = 0; i < m * k; ++i)
                a[size_t(i / 8 * 8 + i % 8 / 2 + i % 2 * 4)] = rows[size_t(i)];
            for (int64_t i = 0; i < m && areHalves; ++i)
              each->separate(a.data() + i * k, k);
            const Tensor c = Tensor::filled<float>({m, 16}, 5);
            ByteColumns product;
            product.m = m;
            product.n = n;
            product.a = {a.data(), k, scalesA.view.as<float>(), sums.data(), 2};
            product.columns = reinterpret_cast<const std::byte *>(b.data());
            product.columnBytes = columnBytes;
            product.areHalves = areHalves;
            product.flip = flip;
            product.blocks = 2;
            product.blockChunks = areHalves ? 3 : 6;
            product.scales = scales.view.as<float>();
            product.zeros = zeros.view.as<float>();
            product.c = c.view.as<float>();
            product.leadingC = 16;
            each->multiplyColumns(product);
            forEach(c.dims(), [&](const Dims &at) {
              double sum = at[1] < n ? 0 : 5;
              for (int64_t l = 0; l < k && at[1] < n; ++l)
                sum += double(scales.at<float>({l / blockRows, at[1]})) *
                       scalesA.at<float>({at[0], l / blockRows}) *
                       rows[size_t(at[0] * k + l)] *
                       (double(weightAt(l, at[1])) -
                        zeros.at<float>({l / blockRows, at[1]}));
              ASSERT_EQ(c.at<float>(at), sum);
            });
          }
        }
      }
}

/// Columns do not round otherwise than the tiles of the same processor,
/// whichever it is: rows of a step have the bits that they have in a prompt.
TEST(ByteProduct, ColumnsOfEveryProcessorGiveTheBitsOfTiles) {
  const int64_t blockRows = 96, blocks = 7, k = blockRows * blocks;
  const Tensor scales = fractions({blocks, 16}, 2);
  const Tensor zeros = Tensor::integers<float>({blocks, 16}, 3);
  for (int bits : {4, 8}) {
    const Fields b(bits == 4 ? artifact::ElementType_UInt4
                             : artifact::ElementType_UInt8,
                   16, k, 5);
    std::vector<uint32_t> words(size_t(k / 4 * 16), 0);
    for (int64_t l = 0; l < k; ++l)
      for (int64_t j = 0; j < 16; ++j) {
        const int64_t at = bits == 8 ? l : l / 8 * 8 + l % 2 * 4 + l % 8 / 2;
        words[size_t(at / 4 * 16 + j)] |= uint32_t(b.at(j, l)) << (at % 4 * 8);
      }
    for (const ByteLoops *each : supportedByteLoops())
      for (int64_t m : {1, 2, 3, 4}) {
        const Tensor x = fractions({m, k}, 1);
        std::vector<int8_t> bytes(size_t(m * k));
        std::vector<float> scalesA(size_t(m * blocks)), sums(scalesA);
        const ByteRows a = {bytes.data(), k, scalesA.data(), sums.data(),
                            blocks};
        for (int64_t i = 0; i < m; ++i)
          each->quantize(x.view.as<float>() + i * k, k, blockRows, bits,
                         {a.bytes + i * k, k, a.scales + i * blocks,
                          a.sums + i * blocks, blocks});
        const Tensor tiles = Tensor::filled<float>({m, 16}, 5);
        ByteProduct product;
        product.m = m;
        product.n = 16;
        product.a = a;
        product.words = words.data();
        product.panelStep = int64_t(words.size());
        product.areHalves = bits == 4;
        product.blocks = blocks;
        product.blockWords = product.lastWords = blockRows / 4;
        product.scales = scales.view.as<float>();
        product.zeros = zeros.view.as<float>();
        product.scaleStep = blocks * 16;
        product.c = tiles.view.as<float>();
        product.leadingC = 16;
        each->multiply(product);
        for (int64_t i = 0; i < m && bits == 4; ++i)
          each->separate(a.bytes + i * k, k);
        const Tensor columns = Tensor::filled<float>({m, 16}, 6);
        ByteColumns direct;
        direct.m = m;
        direct.n = 16;
        direct.a = a;
        direct.columns = b.tensor.view.data;
        direct.columnBytes = k * bits / 8;
        direct.areHalves = bits == 4;
        direct.blocks = blocks;
        direct.blockChunks = blockRows * bits / 8 / ByteColumns::kChunk;
        direct.scales = product.scales;
        direct.zeros = product.zeros;
        direct.c = columns.view.as<float>();
        direct.leadingC = 16;
        each->multiplyColumns(direct);
        EXPECT_EQ(columns.values<float>(), tiles.values<float>())
            << bits << " bits, " << m << " rows";
      }
  }
}

/// The bytes of every processor are those of the others.
TEST(ByteProduct, RoundingOfEveryProcessor) {
  const int64_t k = 75;
  const Tensor x = fractions({k}, 1);
  for (int bits : {4, 8})
    for (const ByteLoops *each : supportedByteLoops()) {
      int8_t bytes[80];
      float scales[3], sums[3];
      each->quantize(x.view.as<float>(), k, 32, bits,
                     {bytes, 80, scales, sums, 3});
      for (int64_t b = 0; b < 3; ++b) {
        double sum = 0, most = 0;
        for (int64_t l = b * 32; l < std::min(k, b * 32 + 32); ++l) {
          const int64_t at = bits == 8 ? l : l / 8 * 8 + l % 2 * 4 + l % 8 / 2;
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
