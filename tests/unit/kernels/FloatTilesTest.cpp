// Products of float with bfloat16 in tiles: the bits are those of panels.
#include "runtime/kernels/host/simd/FloatTiles.h"

#include "runtime/base/AlignedBuffer.h"
#include "runtime/kernels/host/simd/Pairs.h"
#include "runtime/launch/HostThreads.h"
#include "tests/unit/kernels/KernelTest.h"

#include <cmath>
#include <limits>

namespace shardc::runtime::host {
namespace {

class FloatTiles : public testing::Test {
protected:
  void SetUp() override {
    if (!areBFloat16InTiles())
      GTEST_SKIP() << "bfloat16 lies in panels on this processor";
  }
  void TearDown() override { setHostThreads(1); }
};

/// Values whose sums round differently in each order.
template <typename T> Tensor fractions(const Dims &dims, float scale) {
  const Tensor tensor = Tensor::filled<T>(dims, T(0.f));
  for (int64_t i = 0; i < tensor.view.numElements(); ++i)
    tensor.view.as<T>()[i] = T(scale * std::sin(float(7 * i % 1013)));
  return tensor;
}

AlignedBuffer packed(const Tensor &b, int64_t bytes,
                     void (*pack)(const TensorView &, std::byte *,
                                  SourcePages)) {
  AlignedBuffer memory;
  EXPECT_TRUE(memory.allocate(std::max<int64_t>(bytes, 1)));
  pack(b.view, memory.data(), SourcePages::Stay);
  return memory;
}

void expectAsInPanels(const Tensor &a, const Tensor &b, float beta) {
  const int64_t n = b.view.dims[1];
  const AlignedBuffer tiles = packed(b, tiledMatrixBytes(b.view), packTiles);
  const AlignedBuffer panels = packed(b, packedMatrixBytes(b.view), packMatrix);
  const Tensor c = fractions<float>({a.view.dims[0], n + 2}, 3);
  const Tensor expected = c.copy();
  PackedProduct product;
  product.m = a.view.dims[0];
  product.n = n;
  product.k = b.view.dims[0];
  product.a = a.view.as<float>();
  product.rowStepA = a.view.strides[0];
  product.depthStepA = a.view.strides[1];
  product.leadingC = n + 2;
  product.alpha = 0.7f;
  product.beta = beta;
  product.c = expected.view.as<float>() + 1;
  product.setPacked(panels.data(), artifact::ElementType_BFloat16);
  multiplyPacked(product);
  product.c = c.view.as<float>() + 1;
  product.setPacked(tiles.data(), artifact::ElementType_BFloat16);
  multiplyFloatTiles(product);
  forEach(c.dims(), [&](const Dims &at) {
    ASSERT_EQ(c.at<float>(at), expected.at<float>(at))
        << product.m << " x " << n << " x " << product.k << " at " << at[0]
        << ", " << at[1];
  });
}

TEST_F(FloatTiles, BitsOfPanels) {
  for (int threads : {1, 3}) {
    setHostThreads(threads);
    for (int64_t m : {0, 1, 7, 8, 9, 30})
      for (int64_t n : {0, 1, 16, 17, 32, 40, 83})
        for (int64_t k : {0, 1, 2, 31, 33, 384, 385, 801})
          expectAsInPanels(fractions<float>({m, k}, 1),
                           fractions<BFloat16>({k, n}, 2), k % 2 ? 0 : -3);
  }
}

/// A as another's columns, B by columns.
TEST_F(FloatTiles, Strides) {
  expectAsInPanels(fractions<float>({70, 9}, 1).permuted({1, 0}),
                   fractions<BFloat16>({50, 70}, 2).permuted({1, 0}), 1);
}

/// What fills a tile up beside a last row of B meets none of A's numbers.
TEST_F(FloatTiles, ReadsNothingBeyondARow) {
  const Tensor rows = fractions<float>({3, 34}, 1);
  for (int64_t i = 0; i < 3; ++i)
    rows.view.as<float>()[rows.offset({i, 33})] =
        std::numeric_limits<float>::quiet_NaN();
  expectAsInPanels(rows.slice(1, 0, 33), fractions<BFloat16>({33, 20}, 2), 0);
}

} // namespace
} // namespace shardc::runtime::host
