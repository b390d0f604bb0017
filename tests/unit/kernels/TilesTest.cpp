// Products of bfloat16 in tiles, and by pairs in their order.
#include "runtime/kernels/host/simd/Pairs.h"

#include "runtime/base/AlignedBuffer.h"
#include "runtime/launch/HostThreads.h"
#include "tests/unit/kernels/KernelTest.h"

#include <cmath>

namespace shardc::runtime::host {
namespace {

struct Way {
  const char *name;
  bool (*isThere)();
  void (*multiply)(const TileProduct &product);
};

class Tiles : public testing::TestWithParam<Way> {
protected:
  void SetUp() override {
    if (!GetParam().isThere())
      GTEST_SKIP() << "this processor has no such instructions, or the system "
                      "keeps them";
  }
  void TearDown() override { setHostThreads(1); }

  void multiply(const Tensor &a, const Tensor &b, const Tensor &c, float alpha,
                float beta) const;
};

/// A in rows that fill their tiles.
Tensor tiledRows(const Tensor &a) {
  const int64_t k = a.view.dims[1];
  const Tensor rows =
      Tensor::filled<BFloat16>({a.view.dims[0], tiledDepth(k)}, BFloat16(0.f));
  forEach(a.dims(), [&](const Dims &at) {
    rows.view.as<BFloat16>()[rows.offset(at)] = BFloat16(a.at<BFloat16>(at));
  });
  return rows;
}

void Tiles::multiply(const Tensor &a, const Tensor &b, const Tensor &c,
                     float alpha, float beta) const {
  AlignedBuffer memory;
  ASSERT_TRUE(memory.allocate(std::max<int64_t>(tiledMatrixBytes(b.view), 1)));
  packTiles(b.view, memory.data());
  const Tensor rows = tiledRows(a);
  TileProduct product;
  product.m = c.view.dims[0];
  product.n = c.view.dims[1];
  product.k = b.view.dims[0];
  product.a = rows.view.as<BFloat16>();
  product.rowStepA = rows.view.strides[0];
  product.b = memory.data();
  product.c = c.view.as<BFloat16>();
  product.leadingC = c.view.strides[0];
  product.alpha = alpha;
  product.beta = beta;
  GetParam().multiply(product);
}

/// Sums of small integers are exact in every order.
TEST_P(Tiles, RaggedSizes) {
  for (int threads : {1, 3}) {
    setHostThreads(threads);
    for (int64_t m : {0, 1, 15, 16, 17, 31, 32, 33, 48, 49, 100})
      for (int64_t n : {0, 1, 16, 17, 32, 40, 83})
        for (int64_t k : {0, 1, 31, 32, 33, 65, 300}) {
          SCOPED_TRACE(testing::Message() << m << " x " << n << " x " << k);
          const Tensor a = Tensor::integers<BFloat16>({m, k}, 1);
          const Tensor b =
              Tensor::integers<BFloat16>({n, k}, 2).permuted({1, 0});
          const Tensor room = Tensor::integers<BFloat16>({m, n + 2}, 3);
          const Tensor before = room.copy();
          const float alpha = 2, beta = k % 2 ? 0 : -3;
          multiply(a, b, room.slice(1, 1, n), alpha, beta);
          for (int64_t i = 0; i < m; ++i) {
            for (int64_t j = 0; j < n; ++j) {
              double sum = 0;
              for (int64_t l = 0; l < k; ++l)
                sum += double(a.at<BFloat16>({i, l})) * b.at<BFloat16>({l, j});
              ASSERT_EQ(
                  room.at<BFloat16>({i, j + 1}),
                  float(BFloat16(float(
                      alpha * sum + beta * before.at<BFloat16>({i, j + 1})))))
                  << "at " << i << ", " << j;
            }
            ASSERT_EQ(room.at<BFloat16>({i, 0}), before.at<BFloat16>({i, 0}));
            ASSERT_EQ(room.at<BFloat16>({i, n + 1}),
                      before.at<BFloat16>({i, n + 1}));
          }
        }
  }
}

/// Values whose sums round differently in each order.
Tensor fractions(const Dims &dims, uint32_t seed) {
  const Tensor tensor = Tensor::filled<BFloat16>(dims, BFloat16(0.f));
  for (int64_t i = 0; i < tensor.view.numElements(); ++i) {
    seed = seed * 1664525u + 1013904223u;
    tensor.view.as<BFloat16>()[i] = BFloat16(std::sin(float(seed >> 8)));
  }
  return tensor;
}

TEST_P(Tiles, BitsOfARowAndAColumnDoNotDependOnTheOthers) {
  const int64_t m = 75, n = 70, k = 333;
  const Tensor a = fractions({m, k}, 1), b = fractions({k, n}, 2);
  const Tensor all = Tensor::filled<BFloat16>({m, n}, BFloat16(9.f));
  multiply(a, b, all, 1, 0);
  for (int64_t rows : {1, 5, 16, 40})
    for (int64_t first : {int64_t(0), int64_t(20), m - rows}) {
      const Tensor some = Tensor::filled<BFloat16>({rows, n}, BFloat16(9.f));
      multiply(a.slice(0, first, rows), b, some, 1, 0);
      EXPECT_EQ(some.values<BFloat16>(),
                all.slice(0, first, rows).values<BFloat16>());
    }
  const Tensor some = Tensor::filled<BFloat16>({m, 19}, BFloat16(9.f));
  multiply(a, b.slice(1, 5, 19), some, 1, 0);
  EXPECT_EQ(some.values<BFloat16>(), all.slice(1, 5, 19).values<BFloat16>());
}

/// Sums are as exact as in float, and rounded once.
TEST_P(Tiles, RoundsOnce) {
  const int64_t m = 20, n = 40, k = 1000;
  const Tensor a = fractions({m, k}, 1), b = fractions({k, n}, 2);
  const Tensor c = Tensor::filled<BFloat16>({m, n}, BFloat16(9.f));
  multiply(a, b, c, 1, 0);
  forEach({m, n}, [&](const Dims &at) {
    double sum = 0, size = 0;
    for (int64_t l = 0; l < k; ++l) {
      const double term =
          double(a.at<BFloat16>({at[0], l})) * b.at<BFloat16>({l, at[1]});
      sum += term;
      size += std::fabs(term);
    }
    ASSERT_NEAR(c.at<BFloat16>(at), sum, std::fabs(sum) / 256 + 1e-6 * size);
  });
}

/// What fills a tile up is nothing to infinities and NaN.
TEST_P(Tiles, WhatIsNotFinite) {
  const Tensor a = Tensor::filled<BFloat16>({3, 5}, BFloat16(1.f));
  a.view.as<BFloat16>()[0] = BFloat16(INFINITY);
  a.view.as<BFloat16>()[5] = BFloat16(NAN);
  const Tensor b = Tensor::filled<BFloat16>({5, 3}, BFloat16(2.f));
  const Tensor c = Tensor::filled<BFloat16>({3, 3}, BFloat16(9.f));
  multiply(a, b, c, 1, 0);
  for (int64_t j = 0; j < 3; ++j) {
    EXPECT_EQ(c.at<BFloat16>({0, j}), INFINITY);
    EXPECT_TRUE(std::isnan(c.at<BFloat16>({1, j})));
    EXPECT_EQ(c.at<BFloat16>({2, j}), 10);
  }
}

/// The kernel that reads B packed, of rows that fill their tiles and others.
TEST_P(Tiles, InMatMul) {
  for (int64_t k : {64, 50})
    for (bool isTransposed : {false, true}) {
      const Tensor a =
          isTransposed
              ? Tensor::integers<BFloat16>({2, k, 37}, 1).permuted({0, 2, 1})
              : Tensor::integers<BFloat16>({2, 37, k}, 1);
      const Tensor b = Tensor::integers<BFloat16>({1, k, 50}, 2);
      const Tensor expected =
          Tensor::filled<BFloat16>({2, 37, 50}, BFloat16(9.f));
      const Tensor c = expected.copy();
      EXPECT_OK(runKernel("MatMul", {a, b.broadcast({2, k, 50})}, {expected}));
      EXPECT_OK(runPacked("MatMul", {a, b.broadcast({2, k, 50})}, {c}));
      EXPECT_EQ(c.values<BFloat16>(), expected.values<BFloat16>());
    }
}

/// A part of a panel's rows, in float: what attention multiplies of packed values.
TEST_P(Tiles, SomeRowsOfEachPanel) {
  const int64_t m = 5, n = 40, k = 96, begin = 32, some = 33;
  const Tensor a = Tensor::integers<BFloat16>({m, some}, 1);
  const Tensor b = Tensor::integers<BFloat16>({k, n}, 2);
  for (int64_t l = begin + some; l < k; ++l) // is not in the product
    for (int64_t j = 0; j < n; ++j)
      b.view.as<BFloat16>()[b.offset({l, j})] = BFloat16(0.f);
  AlignedBuffer memory;
  ASSERT_TRUE(memory.allocate(tiledMatrixBytes(b.view)));
  packTiles(b.view, memory.data());
  const Tensor rows = tiledRows(a);
  const Tensor c = Tensor::integers<float>({m, n}, 3), before = c.copy();
  TileProduct product;
  product.m = m;
  product.n = n;
  product.k = some;
  product.a = rows.view.as<BFloat16>();
  product.rowStepA = rows.view.strides[0];
  product.b = memory.data() + begin * kPanelColumns * 2;
  product.panelStepB = k * kPanelColumns;
  product.sums = c.view.as<float>();
  product.leadingC = n;
  product.beta = 1;
  GetParam().multiply(product);
  forEach(c.dims(), [&](const Dims &at) {
    double sum = before.at<float>(at);
    for (int64_t l = 0; l < some; ++l)
      sum += double(a.at<BFloat16>({at[0], l})) *
             b.at<BFloat16>({begin + l, at[1]});
    EXPECT_EQ(c.at<float>(at), sum);
  });
}

INSTANTIATE_TEST_SUITE_P(
    Ways, Tiles,
    testing::Values(Way{"InTiles", hasTiles, multiplyTiles},
                    Way{"ByPairs", hasPairs, multiplyPairs}),
    [](const auto &way) { return way.param.name; });

} // namespace
} // namespace shardc::runtime::host
