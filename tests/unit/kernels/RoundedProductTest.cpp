//===- RoundedProductTest.cpp - Products of operands in bfloat16 ----------===//

#include "runtime/kernels/host/simd/RoundedProduct.h"

#include "runtime/base/AlignedBuffer.h"
#include "runtime/launch/HostThreads.h"
#include "tests/unit/kernels/KernelTest.h"

#include <cmath>

namespace shardc::runtime::host {
namespace {

constexpr char kKernel[] = "MatMulBFloat16";

/// Values that bfloat16 does not have.
template <typename T> Tensor fractions(const Dims &dims, uint32_t seed) {
  const Tensor tensor = Tensor::filled<T>(dims, T(0.f));
  for (int64_t i = 0; i < tensor.view.numElements(); ++i) {
    seed = seed * 1664525u + 1013904223u;
    tensor.view.as<T>()[i] = T(std::sin(float(seed >> 8)));
  }
  return tensor;
}

/// The product of what bfloat16 makes of both, in double.
template <typename T>
void expectRounded(const Tensor &a, const Tensor &b, const Tensor &c,
                   double ofSum) {
  const int64_t k = b.view.dims[b.view.rank - 2];
  forEach(c.dims(), [&](const Dims &at) {
    double sum = 0, size = 0;
    Dims atA = at, atB = at;
    for (int64_t l = 0; l < k; ++l) {
      atA[at.size() - 1] = l;
      atB[at.size() - 2] = l;
      const double term = double(float(BFloat16(float(a.at<T>(atA))))) *
                          double(float(BFloat16(float(b.at<T>(atB)))));
      sum += term;
      size += std::fabs(term);
    }
    ASSERT_NEAR(c.at<T>(at), sum, 1e-6 * size + ofSum * std::fabs(sum))
        << "at " << at[0] << ", " << at.back();
  });
}

TEST(RoundedProduct, RaggedSizes) {
  for (int threads : {1, 3}) {
    setHostThreads(threads);
    for (int64_t m : {1, 2, 17, 40})
      for (int64_t n : {1, 16, 37, 70})
        for (int64_t k : {1, 31, 32, 400}) {
          SCOPED_TRACE(testing::Message() << m << " x " << n << " x " << k);
          const Tensor a = fractions<float>({m, k}, 1);
          const Tensor b = fractions<float>({n, k}, 2).permuted({1, 0});
          const Tensor c = Tensor::filled<float>({m, n}, 9);
          EXPECT_OK(runPacked(kKernel, {a, b}, {c}));
          expectRounded<float>(a, b, c, 0);
          const Tensor unpacked = Tensor::filled<float>({m, n}, 9);
          EXPECT_OK(runKernel(kKernel, {a, b}, {unpacked}));
          EXPECT_EQ(unpacked.values<float>(), c.values<float>());
        }
  }
  setHostThreads(1);
}

/// All ways that this processor has, by themselves.
TEST(RoundedProduct, EveryLevel) {
  for (const RoundedLoops *loops : supportedRoundedLoops())
    for (int64_t m : {1, 7, 33}) {
      const int64_t n = 50, k = 333;
      const Tensor a = fractions<float>({m, k}, 1);
      const Tensor b = fractions<float>({k, n}, 2);
      const Tensor c = Tensor::filled<float>({m, n}, 9);
      AlignedBuffer packed, rows;
      ASSERT_TRUE(packed.allocate(loops->matrixBytes(b.view)));
      ASSERT_TRUE(rows.allocate(loops->rowsBytes(m, k)));
      loops->pack(b.view, packed.data(), SourcePages::Stay);
      PackedProduct product;
      product.m = m;
      product.n = n;
      product.k = k;
      product.a = a.view.as<float>();
      product.rowStepA = k;
      product.c = c.view.as<float>();
      product.leadingC = n;
      loops->multiply(product, packed.data(), rows.data());
      expectRounded<float>(a, b, c, 0);
    }
}

TEST(RoundedProduct, Float16StaysFloat16) {
  const Tensor a = fractions<Float16>({2, 9, 100}, 1);
  const Tensor b = fractions<Float16>({1, 100, 50}, 2).broadcast({2, 100, 50});
  const Tensor c = Tensor::filled<Float16>({2, 9, 50}, Float16(9.f));
  EXPECT_OK(runPacked(kKernel, {a, b}, {c}));
  expectRounded<Float16>(a, b, c, 1e-3);
}

/// A, B and C as views of any layout; the transposed C is no other product.
TEST(RoundedProduct, AnyLayout) {
  const Tensor a = fractions<float>({3, 64, 5}, 1).permuted({0, 2, 1});
  const Tensor b = fractions<float>({1, 64, 33}, 2).scattered();
  for (const std::vector<int> &order :
       {std::vector<int>{0, 1, 2}, {0, 2, 1}, {1, 2, 0}}) {
    Dims dims(3);
    for (int d = 0; d < 3; ++d)
      dims[order[d]] = Dims{3, 5, 33}[d];
    const Tensor c = Tensor::filled<float>(dims, 9).permuted(order);
    EXPECT_OK(runPacked(kKernel, {a, b.broadcast({3, 64, 33})}, {c}));
    expectRounded<float>(a, b.broadcast({3, 64, 33}), c, 0);
  }
}

/// Integers are exact: alpha A B + beta C.
TEST(RoundedProduct, AsGemm) {
  const Tensor a = Tensor::integers<float>({20, 70}, 1);
  const Tensor b = Tensor::integers<float>({70, 30}, 2);
  const Tensor bias = Tensor::integers<float>({1, 30}, 3).broadcast({20, 30});
  const Tensor c = Tensor::filled<float>({20, 30}, 9);
  EXPECT_OK(runPacked(kKernel, {a, b, bias}, {c},
                      Attributes().number("alpha", 2).number("beta", -3)));
  forEach(c.dims(), [&](const Dims &at) {
    double sum = 0;
    for (int64_t l = 0; l < 70; ++l)
      sum += double(a.at<float>({at[0], l})) * b.at<float>({l, at[1]});
    ASSERT_EQ(c.at<float>(at), 2 * sum - 3 * bias.at<float>(at));
  });
}

TEST(RoundedProduct, BitsOfARowAndAColumnDoNotDependOnTheOthers) {
  const Tensor a = fractions<float>({61, 900}, 1);
  const Tensor b = fractions<float>({900, 150}, 2);
  const Tensor all = Tensor::filled<float>({61, 150}, 9);
  EXPECT_OK(runPacked(kKernel, {a, b}, {all}));
  for (int64_t rows : {1, 2, 5, 16, 33}) {
    const Tensor some = Tensor::filled<float>({rows, 150}, 9);
    EXPECT_OK(runPacked(kKernel, {a.slice(0, 20, rows), b}, {some}));
    EXPECT_EQ(some.values<float>(), all.slice(0, 20, rows).values<float>());
  }
  const Tensor some = Tensor::filled<float>({61, 19}, 9);
  EXPECT_OK(runPacked(kKernel, {a, b.slice(1, 5, 19)}, {some}));
  EXPECT_EQ(some.values<float>(), all.slice(1, 5, 19).values<float>());
}

/// Halves between two numbers of bfloat16 go to the even one; NaN stays.
TEST(RoundedProduct, RoundsToNearestEven) {
  const Tensor a = Tensor::of<float>(
      {4, 1}, {1 + 1.f / 256, 1 + 3.f / 256, NAN, 1 + 1.01f / 256});
  const Tensor b = Tensor::of<float>({1, 1}, {1});
  const Tensor c = Tensor::filled<float>({4, 1}, 9);
  EXPECT_OK(runPacked(kKernel, {a, b}, {c}));
  EXPECT_EQ(c.at<float>({0, 0}), 1);
  EXPECT_EQ(c.at<float>({1, 0}), 1 + 4.f / 256);
  EXPECT_TRUE(std::isnan(c.at<float>({2, 0})));
  EXPECT_EQ(c.at<float>({3, 0}), 1 + 2.f / 256);
}

TEST(RoundedProduct, RefusesSeveralMatrices) {
  const Tensor a = Tensor::integers<float>({2, 3, 4}, 1);
  const Tensor b = Tensor::integers<float>({2, 4, 5}, 2);
  const Tensor c = Tensor::filled<float>({2, 3, 5}, 9);
  EXPECT_FALSE(runKernel(kKernel, {a, b}, {c}).isOk());
}

} // namespace
} // namespace shardc::runtime::host
