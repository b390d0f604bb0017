//===- IntegerProductTest.cpp - Exact products of bytes -------------------===//

#include "runtime/base/AlignedBuffer.h"
#include "runtime/kernels/host/simd/ByteLoops.h"
#include "runtime/kernels/host/simd/IntegerPanels.h"
#include "runtime/launch/HostThreads.h"
#include "tests/unit/kernels/KernelTest.h"

namespace shardc::runtime::host {
namespace {

/// All bytes, the least and the largest ones often.
template <typename T> Tensor bytes(const Dims &dims, uint32_t seed) {
  const Tensor tensor = Tensor::filled<T>(dims, T(0));
  for (int64_t i = 0; i < tensor.view.numElements(); ++i) {
    seed = seed * 1664525u + 1013904223u;
    const uint32_t kind = seed >> 30;
    tensor.view.as<T>()[i] = kind == 0   ? std::numeric_limits<T>::min()
                             : kind == 1 ? std::numeric_limits<T>::max()
                                         : T(seed >> 16);
  }
  return tensor;
}

/// a - zeroA [m, 1] times b - zeroB [1, n], modulo 2^32.
template <typename A, typename B>
int32_t expected(const Tensor &a, const Tensor &b, const Tensor &zeroA,
                 const Tensor &zeroB, const Dims &at) {
  uint32_t sum = 0;
  Dims atA = at, atB = at, ofRow = at, ofColumn = at;
  const size_t row = at.size() - 2, column = at.size() - 1;
  ofRow[column] = ofColumn[row] = 0;
  for (int64_t l = 0; l < b.view.dims[row]; ++l) {
    atA[column] = atB[row] = l;
    sum += uint32_t((int32_t(a.at<A>(atA)) - int32_t(zeroA.at<A>(ofRow))) *
                    (int32_t(b.at<B>(atB)) - int32_t(zeroB.at<B>(ofColumn))));
  }
  return int32_t(sum);
}

template <typename A, typename B>
void check(const Tensor &a, const Tensor &b, const Tensor &zeroA,
           const Tensor &zeroB, const Tensor &c) {
  for (bool packs : {false, true}) {
    for (int32_t &number : std::span(c.view.as<int32_t>(), 1))
      number = 9;
    EXPECT_OK((packs ? runPacked : runKernel)("MatMulInteger",
                                              {a, b, zeroA, zeroB}, {c}, {}));
    forEach(c.dims(), [&](const Dims &at) {
      ASSERT_EQ(c.at<int32_t>(at), (expected<A, B>(a, b, zeroA, zeroB, at)));
    });
  }
}

template <typename A, typename B> void checkSizes() {
  for (int64_t m : {1, 3, 8, 17, 37, 70})
    for (int64_t n : {1, 16, 37, 90})
      for (int64_t k : {0, 1, 3, 64, 200}) {
        SCOPED_TRACE(testing::Message() << m << " x " << n << " x " << k);
        check<A, B>(bytes<A>({m, k}, 1), bytes<B>({n, k}, 2).permuted({1, 0}),
                    bytes<A>({m, 1}, 3), bytes<B>({1, n}, 4),
                    Tensor::filled<int32_t>({m, n}, 9));
      }
}

TEST(IntegerProduct, AllTypesAndSizes) {
  for (int threads : {1, 3}) {
    setHostThreads(threads);
    checkSizes<uint8_t, int8_t>();
    checkSizes<uint8_t, uint8_t>();
    checkSizes<int8_t, int8_t>();
    checkSizes<int8_t, uint8_t>();
  }
  setHostThreads(1);
}

/// More than stay in a cache together.
TEST(IntegerProduct, RowsOfALongSum) {
  const int64_t m = 70, n = 3, k = 16400;
  check<uint8_t, int8_t>(bytes<uint8_t>({m, k}, 1), bytes<int8_t>({k, n}, 2),
                         bytes<uint8_t>({m, 1}, 3), bytes<int8_t>({1, n}, 4),
                         Tensor::filled<int32_t>({m, n}, 9));
}

/// One B for all of a batch, or one for each; any layout of C.
TEST(IntegerProduct, Batches) {
  const Tensor a = bytes<uint8_t>({3, 2, 5, 70}, 1);
  const Tensor zeroA = bytes<uint8_t>({3, 1, 1, 1}, 3).broadcast({3, 2, 5, 1});
  for (const Dims &dims : {Dims{1, 1, 70, 33}, {3, 2, 70, 33}, {1, 2, 70, 33}})
    for (const std::vector<int> &order :
         {std::vector<int>{0, 1, 2, 3}, {0, 1, 3, 2}, {2, 1, 0, 3}}) {
      const Tensor b = bytes<int8_t>(dims, 2).broadcast({3, 2, 70, 33});
      const Tensor zeroB =
          bytes<int8_t>({dims[0], dims[1], 1, 33}, 4).broadcast({3, 2, 1, 33});
      Dims inMemory(4);
      for (int d = 0; d < 4; ++d)
        inMemory[order[d]] = Dims{3, 2, 5, 33}[d];
      check<uint8_t, int8_t>(
          a, b, zeroA, zeroB,
          Tensor::filled<int32_t>(inMemory, 9).permuted(order));
    }
}

TEST(IntegerProduct, WithoutZeroPoints) {
  const Tensor a = bytes<int8_t>({9, 100}, 1), b = bytes<uint8_t>({100, 40}, 2);
  const Tensor c = Tensor::filled<int32_t>({9, 40}, 9);
  EXPECT_OK(runPacked("MatMulInteger", {a, b}, {c}));
  const Tensor none = Tensor::filled<int8_t>({9, 1}, 0);
  const Tensor nothing = Tensor::filled<uint8_t>({1, 40}, 0);
  forEach(c.dims(), [&](const Dims &at) {
    ASSERT_EQ(c.at<int32_t>(at),
              (expected<int8_t, uint8_t>(a, b, none, nothing, at)));
  });
}

/// Packed in parts of a few MiB, of rows or of columns.
TEST(IntegerProduct, LargeMatrices) {
  const int64_t k = 2500, n = 2000;
  const Tensor a = bytes<int8_t>({1, k}, 1);
  for (const Tensor &b : {bytes<uint8_t>({k, n}, 2),
                          bytes<uint8_t>({n, k}, 2).permuted({1, 0})}) {
    const Tensor c = Tensor::filled<int32_t>({1, n}, 9);
    EXPECT_OK(runPacked("MatMulInteger", {a, b}, {c}));
    for (int64_t j = 0; j < n; ++j) {
      int32_t sum = 0;
      for (int64_t l = 0; l < k; ++l)
        sum += a.at<int8_t>({0, l}) * int32_t(b.at<uint8_t>({l, j}));
      ASSERT_EQ(c.at<int32_t>({0, j}), sum);
    }
  }
}

/// The largest bytes everywhere: 16 bits in between would not do.
TEST(IntegerProduct, EveryLevelIsExact) {
  const int64_t m = 21, n = 50, k = 333, depth = integerDepth(k);
  std::vector<decltype(ByteLoops::multiplyIntegers)> levels;
  for (const ByteLoops *loops : supportedByteLoops())
    levels.push_back(loops->multiplyIntegers);
  if (hasIntegerTiles())
    levels.push_back(multiplyIntegerTiles);
  for (int kind = 0; kind < 3; ++kind) {
    const Tensor a = kind == 0   ? bytes<int8_t>({m, k}, 1)
                     : kind == 1 ? Tensor::filled<int8_t>({m, k}, -128)
                                 : Tensor::filled<int8_t>({m, k}, 127);
    const Tensor b = kind == 0 ? bytes<uint8_t>({k, n}, 2)
                               : Tensor::filled<uint8_t>({k, n}, 255);
    AlignedBuffer packed, rows;
    ASSERT_TRUE(packed.allocate(integerMatrixBytes(b.view)));
    ASSERT_TRUE(rows.allocate(m * depth));
    packIntegers(b.view, packed.data());
    std::vector<int32_t> sums(m), zeros(m, 7), zerosB(64, 200);
    for (int64_t i = 0; i < m; ++i)
      for (int64_t l = 0; l < depth; ++l) {
        const auto x = int8_t(l < k ? a.at<int8_t>({i, l}) : 0);
        reinterpret_cast<int8_t *>(rows.data())[i * depth + l] = x;
        sums[i] += x;
      }
    for (auto multiply : levels) {
      const Tensor c = Tensor::filled<int32_t>({m, n}, 9);
      std::vector<int32_t *> out;
      for (int64_t i = 0; i < m; ++i)
        out.push_back(c.view.as<int32_t>() + i * n);
      multiply({m, n, k, reinterpret_cast<const int8_t *>(rows.data()),
                sums.data(), zeros.data(), packed.data(), zerosB.data(),
                out.data()},
               {0, 4});
      const Tensor seven = Tensor::filled<int8_t>({m, 1}, 7);
      const Tensor others = Tensor::filled<uint8_t>({1, n}, 200);
      forEach(c.dims(), [&](const Dims &at) {
        ASSERT_EQ(c.at<int32_t>(at),
                  (expected<int8_t, uint8_t>(a, b, seven, others, at)));
      });
      // The same integers as numbers, each rounded once.
      std::vector<float> scalesA(m), scalesB(64);
      for (size_t i = 0; i < scalesA.size(); ++i)
        scalesA[i] = 0.0173f + 0.0011f * float(i);
      for (size_t j = 0; j < scalesB.size(); ++j)
        scalesB[j] = 0.0037f + 0.0007f * float(j);
      const Tensor numbers = Tensor::filled<float>({m, n}, 9);
      for (int64_t i = 0; i < m; ++i)
        out[size_t(i)] = numbers.view.as<int32_t>() + i * n;
      multiply({m, n, k, reinterpret_cast<const int8_t *>(rows.data()),
                sums.data(), zeros.data(), packed.data(), zerosB.data(),
                out.data(), scalesA.data(), scalesB.data()},
               {0, 4});
      forEach(c.dims(), [&](const Dims &at) {
        const double scale =
            double(scalesA[size_t(at[0])]) * scalesB[size_t(at[1])];
        ASSERT_EQ(numbers.at<float>(at), float(c.at<int32_t>(at) * scale));
      });
    }
  }
}

} // namespace
} // namespace shardc::runtime::host
