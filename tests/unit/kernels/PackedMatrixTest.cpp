#include "runtime/kernels/host/simd/Loops.h"
#include "runtime/kernels/host/simd/PackedParts.h"
#include "runtime/kernels/host/simd/Tiles.h"
#include "tests/unit/kernels/KernelTest.h"

#include "runtime/base/AlignedBuffer.h"
#include "runtime/kernels/host/product/MatrixProduct.h"

#include <cmath>
#include <tuple>

namespace shardc::runtime::host {
namespace {

AlignedBuffer packed(const Tensor &matrix) {
  AlignedBuffer memory;
  EXPECT_TRUE(memory.allocate(packedMatrixBytes(matrix.view)));
  packMatrix(matrix.view, memory.data());
  return memory;
}

PackedProduct productOf(const Tensor &a, const Tensor &b,
                        const AlignedBuffer &memory, const Tensor &c) {
  PackedProduct product;
  product.m = c.view.dims[0];
  product.n = c.view.dims[1];
  product.k = a.view.dims[1];
  product.a = a.view.as<float>();
  product.rowStepA = a.view.strides[0];
  product.depthStepA = a.view.strides[1];
  product.setPacked(memory.data(), b.view.element);
  product.c = c.view.as<float>();
  product.leadingC = c.view.strides[0];
  return product;
}

/// Sums of small integers are exact in every order.
template <typename T>
void multipliesExactly(int64_t m, int64_t n, int64_t k, float alpha,
                       float beta) {
  SCOPED_TRACE(testing::Message() << m << " x " << n << " x " << k << ", alpha "
                                  << alpha << ", beta " << beta);
  const Tensor a = Tensor::integers<float>({m, k + 3}, 1).slice(1, 2, k);
  const Tensor b = Tensor::integers<T>({n, k}, 2).permuted({1, 0});
  const Tensor room = Tensor::integers<float>({m, n + 2}, 3);
  const std::vector<float> before = room.values<float>();
  const AlignedBuffer memory = packed(b);
  PackedProduct product = productOf(a, b, memory, room.slice(1, 1, n));
  product.alpha = alpha;
  product.beta = beta;
  multiplyPacked(product);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t l = 0; l < k; ++l)
        sum += double(a.at<float>({i, l})) * double(b.at<T>({l, j}));
      const float old = before[size_t(i * (n + 2) + j + 1)];
      ASSERT_EQ(room.at<float>({i, j + 1}), alpha * sum + beta * old)
          << "at " << i << ", " << j;
    }
    ASSERT_EQ(room.at<float>({i, 0}), before[size_t(i * (n + 2))]);
    ASSERT_EQ(room.at<float>({i, n + 1}), before[size_t(i * (n + 2) + n + 1)]);
  }
}

template <typename T> void multipliesRaggedSizes() {
  for (int64_t m : {0, 1, 2, 3, 4, 5, 6, 7, 11, 12, 13, 200})
    for (int64_t n : {0, 1, 15, 16, 17, 64, 83})
      for (int64_t k : {0, 1, 5, 385})
        multipliesExactly<T>(m, n, k, 1, 0);
  multipliesExactly<T>(9, 40, 800, 2, 0);
  multipliesExactly<T>(9, 40, 800, 1, 1);
  multipliesExactly<T>(9, 40, 800, 2, -3);
  multipliesExactly<T>(2, 5, 0, 2, -3);
}

TEST(PackedMatrix, RaggedSizesOfFloat) { multipliesRaggedSizes<float>(); }
TEST(PackedMatrix, RaggedSizesOfFloat16) { multipliesRaggedSizes<Float16>(); }
TEST(PackedMatrix, RaggedSizesOfBFloat16) { multipliesRaggedSizes<BFloat16>(); }

/// Values whose sums round differently in each order.
template <typename T = float>
Tensor fractions(const Dims &dims, uint32_t seed) {
  Tensor tensor = Tensor::filled<T>(dims, T(0));
  for (int64_t i = 0; i < tensor.view.numElements(); ++i) {
    seed = seed * 1664525u + 1013904223u;
    tensor.view.as<T>()[i] = T(std::sin(float(seed >> 8)));
  }
  return tensor;
}

template <typename T> void bitsOfARowDoNotDependOnTheOthers() {
  const int64_t m = 503, n = 530, k = 800; // several blocks of each
  const Tensor a = fractions({m, k}, 1), b = fractions<T>({k, n}, 2);
  const Tensor all = Tensor::filled<float>({m, n}, 9);
  const AlignedBuffer memory = packed(b);
  multiplyPacked(productOf(a, b, memory, all));
  for (int64_t count : {1, 2, 3, 5, 7, 17, 18, 64}) {
    const Tensor some = Tensor::filled<float>({count, n}, 9);
    for (int64_t first : {int64_t{0}, int64_t{100}, m - count}) {
      multiplyPacked(productOf(a.slice(0, first, count), b, memory, some));
      EXPECT_EQ(some.values<float>(),
                all.slice(0, first, count).values<float>())
          << count << " rows from " << first << " on";
    }
  }
}

TEST(PackedMatrix, BitsOfARowDoNotDependOnTheOthers) {
  bitsOfARowDoNotDependOnTheOthers<float>();
  bitsOfARowDoNotDependOnTheOthers<Float16>();
  bitsOfARowDoNotDependOnTheOthers<BFloat16>();
}

/// What a colleague of columns computes is what it computes in the whole.
TEST(PackedMatrix, BitsOfAColumnDoNotDependOnTheOthers) {
  const int64_t n = 96, k = 777;
  const Tensor a = fractions({8, k}, 1), b = fractions({k, n}, 2);
  const Tensor all = Tensor::filled<float>({8, n}, 9);
  multiplyPacked(productOf(a, b, packed(b), all));
  const Tensor half = b.slice(1, 40, 50);
  const Tensor some = Tensor::filled<float>({8, 50}, 9);
  multiplyPacked(productOf(a, half, packed(half), some));
  EXPECT_EQ(some.values<float>(), all.slice(1, 40, 50).values<float>());
}

/// What no one has packed, whichever way it lies, has the bits of what is.
TEST(PackedMatrix, ProductsInAFixedOrderHaveTheSameBits) {
  for (const auto &[m, n, k] :
       {std::tuple(1, 1, 1), {3, 50, 7}, {9, 97, 800}, {70, 130, 385}}) {
    const Tensor b = fractions({k, n}, 2), turned = fractions({n, k}, 3);
    for (bool isTurned : {false, true}) {
      const Tensor a = isTurned ? fractions({k, m}, 1).permuted({1, 0})
                                : fractions({m, k}, 1);
      for (const Tensor &right : {b, turned.permuted({1, 0})}) {
        const Tensor expected = fractions({m, n}, 4), c = fractions({m, n}, 4);
        PackedProduct product = productOf(a, right, packed(right), expected);
        const AlignedBuffer memory = packed(right);
        product.setPacked(memory.data(), right.view.element);
        product.alpha = 0.7f;
        product.beta = 0.3f;
        multiplyPacked(product);
        const auto operand = [](const Tensor &matrix) {
          const bool isDense = matrix.view.strides[1] == 1;
          return Matrix<float>{matrix.view.as<float>(),
                               matrix.view.strides[isDense ? 0 : 1], !isDense};
        };
        ASSERT_TRUE(multiply(m, n, k, 0.7f, operand(a), operand(right), 0.3f,
                             c.view.as<float>(), n, SumOrder::Fixed)
                        .isOk());
        EXPECT_EQ(c.values<float>(), expected.values<float>())
            << m << " x " << n << " x " << k;
      }
    }
  }
}

/// The loops of processors with fused multiply-add, wide vectors or not.
TEST(PackedMatrix, BitsOfEveryFusedProcessor) {
  const Tensor a = fractions({13, 900}, 1), b = fractions({900, 130}, 2);
  const AlignedBuffer memory = packed(b);
  std::vector<std::vector<float>> found;
  for (const Loops *each :
       supportedLoops().first(supportedLoops().size() - 1)) {
    const Tensor c = Tensor::filled<float>({13, 130}, 9);
    each->multiplyPanels.ofFloat(productOf(a, b, memory, c), {0, 9});
    found.push_back(c.values<float>());
  }
  for (const auto &values : found)
    EXPECT_EQ(values, found.front());
}

TEST(PackedMatrix, ExponentialsOfEveryFusedProcessor) {
  for (int64_t count : {1, 15, 16, 40, 255, 256}) {
    std::vector<std::vector<float>> found;
    for (const Loops *each :
         supportedLoops().first(supportedLoops().size() - 1)) {
      const Tensor x = fractions({count}, 5);
      const float most = each->maximumOfRow(x.view.as<float>(), count);
      const float sum =
          each->exponentialsOfRow(x.view.as<float>(), count, most);
      found.push_back(x.values<float>());
      found.back().push_back(most);
      found.back().push_back(sum);
    }
    for (const auto &values : found)
      EXPECT_EQ(values, found.front()) << count;
  }
}

/// Also those that are not the fastest here.
template <typename T> void everyProcessorsLoops() {
  for (const Loops *each : supportedLoops())
    for (int64_t m : {1, 2, 3, 6, 7, 12, 13, 25})
      for (int64_t n : {1, 16, 50, 130}) {
        const Tensor a = Tensor::integers<float>({m, 400}, 1);
        const Tensor b = Tensor::integers<T>({400, n}, 2);
        const Tensor c = Tensor::filled<float>({m, n}, 9);
        const Tensor expected = Tensor::filled<float>({m, n}, 9);
        const AlignedBuffer memory = packed(b);
        const Span panels = {0, (n + kPanelColumns - 1) / kPanelColumns};
        each->multiplyPanels.of(b.view.element)(productOf(a, b, memory, c),
                                                panels);
        multiplyPacked(productOf(a, b, memory, expected));
        EXPECT_EQ(c.values<float>(), expected.values<float>());
      }
}

TEST(PackedMatrix, LoopsOfEveryProcessor) {
  everyProcessorsLoops<float>();
  everyProcessorsLoops<Float16>();
  everyProcessorsLoops<BFloat16>();
}

template <typename T> void readsRowsAsTheyLie() {
  for (int64_t m : {1, 4, 9})
    for (int64_t k : {0, 1, 30, 400}) {
      const Tensor a = Tensor::integers<float>({k, m}, 1).permuted({1, 0});
      const Tensor b = Tensor::integers<T>({k, 83}, 2).slice(1, 3, 64);
      const Tensor c = Tensor::filled<float>({m, 64}, 9);
      PackedProduct product = productOf(a, b, AlignedBuffer(), c);
      product.setRows(b.view.data, b.view.element, b.view.strides[0]);
      multiplyPacked(product);
      forEach(c.dims(), [&](const Dims &at) {
        double sum = 0;
        for (int64_t l = 0; l < k; ++l)
          sum += double(a.at<float>({at[0], l})) * double(b.at<T>({l, at[1]}));
        ASSERT_EQ(c.at<float>(at), sum);
      });
    }
}

TEST(PackedMatrix, RowsAsTheyLie) {
  readsRowsAsTheyLie<float>();
  readsRowsAsTheyLie<Float16>();
  readsRowsAsTheyLie<BFloat16>();
}

TEST(PackedMatrix, NothingForOtherElements) {
  EXPECT_EQ(packedMatrixBytes(Tensor::integers<double>({3, 4}).view), 0);
  EXPECT_EQ(packedMatrixBytes(Tensor::integers<int64_t>({3, 4}).view), 0);
}

/// Rows, or columns, one behind the other, of more than a part has.
Tensor largeMatrix(bool hasDenseRows) {
  const Dims dims = hasDenseRows ? Dims{1100, 1030} : Dims{1030, 1100};
  const Tensor lies = Tensor::integers<float>(dims, 3);
  return hasDenseRows ? lies : lies.permuted({1, 0});
}

TEST(PackedParts, HaveEachElementOnce) {
  for (bool hasDenseRows : {true, false}) {
    const Tensor matrix = largeMatrix(hasDenseRows);
    int64_t parts = 0, rows = 0, panels = 0;
    MatrixPart part = {};
    while (nextPart(matrix.view, part)) {
      ++parts;
      EXPECT_EQ(part.rows.begin, hasDenseRows ? rows : 0);
      EXPECT_EQ(part.panels.begin, hasDenseRows ? 0 : panels);
      EXPECT_EQ(part.rows.begin % 64, 0);
      rows = part.rows.end;
      panels = part.panels.end;
    }
    EXPECT_GT(parts, 1);
    EXPECT_EQ(rows, 1100);
    EXPECT_EQ(panels, (1030 + 15) / 16);
  }
  for (const Dims &dims : {Dims{0, 5}, Dims{5, 0}}) {
    MatrixPart none = {};
    EXPECT_FALSE(nextPart(Tensor::filled<float>(dims, 1).view, none));
  }
}

TEST(PackedParts, MakeUpTheMatrix) {
  for (bool hasDenseRows : {true, false}) {
    const Tensor matrix = largeMatrix(hasDenseRows);
    AlignedBuffer panels, tiles;
    ASSERT_TRUE(panels.allocate(packedMatrixBytes(matrix.view)));
    ASSERT_TRUE(tiles.allocate(tiledMatrixBytes(matrix.view)));
    packMatrix(matrix.view, panels.data());
    packTiles(matrix.view, tiles.data());
    const auto *inPanels = reinterpret_cast<const float *>(panels.data());
    const auto *inTiles = reinterpret_cast<const BFloat16 *>(tiles.data());
    const int64_t depth = tiledDepth(1100);
    for (int64_t k = 0; k < depth; ++k)
      for (int64_t j = 0; j < (1030 + 15) / 16 * 16; ++j) {
        const float expected =
            k < 1100 && j < 1030 ? matrix.at<float>({k, j}) : 0;
        const int64_t panel = j / 16, column = j % 16;
        if (k < 1100) {
          ASSERT_EQ(inPanels[panel * 1100 * 16 + k * 16 + column], expected);
        }
        ASSERT_EQ(
            float(
                inTiles[panel * depth * 16 + k / 2 * 32 + 2 * column + k % 2]),
            expected)
            << k << ", " << j;
      }
  }
}

} // namespace
} // namespace shardc::runtime::host
