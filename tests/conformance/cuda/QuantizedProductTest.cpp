#include "tests/conformance/cuda/KernelComparison.h"
#include "tests/conformance/cuda/KernelTypes.h"
#include "tests/conformance/cuda/QuantizedTensors.h"

namespace shardc::testing {
namespace {

using namespace runtime::host;
using artifact::ElementType;

constexpr ElementType kSmall[] = {
    artifact::ElementType_Int2,         artifact::ElementType_UInt2,
    artifact::ElementType_Int4,         artifact::ElementType_UInt4,
    artifact::ElementType_Int8,         artifact::ElementType_UInt8,
    artifact::ElementType_Float8E4M3FN, artifact::ElementType_Float8E5M2};

/// X [m, k] and weights [k, n], with scales and zero points of their own.
struct Problem {
  int64_t m, k, n;
  ElementType element = artifact::ElementType_Int4;
  bool isByColumns = true; ///< as weights lie
  int64_t block = 0;       ///< 0: one for each column
};

template <typename T>
void comparePart(const Problem &p, const Tensor &x, const Tensor &weights,
                 const Tensor &out, int64_t blocks, const auto &attributes,
                 double tolerance) {
  const Dims dims = {p.block ? blocks : 1, p.n};
  const auto seen = [&](const Tensor &t) {
    return p.block ? t : t.broadcast({p.k, p.n});
  };
  const Tensor scale = seen(scales<T>(dims, 2));
  compare("MatMulDequantized", {x, weights, scale}, {out}, attributes(),
          tolerance);
  compare("MatMulDequantized",
          {x, weights, scale, seen(quantized(p.element, dims, 3))}, {out},
          attributes(), tolerance);
  compare("MatMulDequantized", {x, weights, scale, seen(numbers<T>(dims, 4))},
          {out}, attributes(), tolerance);
}

template <typename T> void compareProduct(const Problem &p) {
  SCOPED_TRACE(::testing::Message()
               << p.m << ", " << p.k << ", " << p.n << " of "
               << EnumNameElementType(p.element) << ", blocks of " << p.block
               << (p.isByColumns ? ", by columns" : ", by rows"));
  const Tensor weights = quantizedInOrder(
      p.element, {p.k, p.n},
      p.isByColumns ? std::vector<int>{1, 0} : std::vector<int>{0, 1});
  const auto attributes = [&] {
    return p.block
               ? Attributes().ints("axis", {0}).ints("block_size", {p.block})
               : Attributes();
  };
  const double tolerance = 10 * toleranceOf(elementTypeOf<T>());
  const int64_t blocks = p.block ? (p.k + p.block - 1) / p.block : 0;
  comparePart<T>(p, numbers<T>({p.m, p.k}, 5), weights,
                 Tensor::filled<T>({p.m, p.n}, T()), blocks, attributes,
                 tolerance);
}

using GpuFloats = TypeList<float, Float16, BFloat16>;

TEST(QuantizedProducts, multiplyFewAndManyRows) {
  forTypes(FloatTypes(), [](auto tag) {
    using T = typename decltype(tag)::Type;
    for (const ElementType element : kSmall)
      for (const bool isByColumns : {true, false})
        for (const int64_t m : {1, 3, 9}) {
          compareProduct<T>({m, 96, 20, element, isByColumns, 0});
          compareProduct<T>({m, 64, 36, element, isByColumns, 32});
        }
  });
  for (const bool isByColumns : {true, false}) // more than a block has
    compareProduct<float>(
        {8, 32, 132, artifact::ElementType_UInt4, isByColumns, 8});
}

/// Neither whole loads nor whole groups of columns; wider integers.
TEST(QuantizedProducts, multiplyRaggedMatrices) {
  forTypes(TypeList<float, double>(), [](auto tag) {
    using T = typename decltype(tag)::Type;
    for (const ElementType element : kScaledTypes)
      for (const bool isByColumns : {true, false})
        for (const int64_t m : {0, 1, 5, 12}) {
          compareProduct<T>({m, 27, 6, element, isByColumns, 0});
          compareProduct<T>({m, 40, 7, element, isByColumns, 5});
          compareProduct<T>({m, 0, 4, element, isByColumns, 0});
          compareProduct<T>({m, 8, 0, element, isByColumns, 0});
        }
  });
}

TEST(QuantizedProducts, splitLongSums) {
  forTypes(GpuFloats(), [](auto tag) {
    using T = typename decltype(tag)::Type;
    for (const int64_t m : {1, 8}) {
      compareProduct<T>({m, 8192, 8, artifact::ElementType_Int4, true, 32});
      compareProduct<T>({m, 4096, 8, artifact::ElementType_UInt8, true, 0});
      compareProduct<T>({m, 2048, 12, artifact::ElementType_Int8, false, 64});
      compareProduct<T>({m, 1024, 132, artifact::ElementType_UInt4, false, 8});
    }
  });
}

/// Rows 32 to 95 of 160, in blocks that begin elsewhere.
TEST(QuantizedProducts, multiplyThePartOfARank) {
  for (const bool isByColumns : {true, false})
    for (const int64_t block : {8, 20, 32})
      for (const int64_t m : {1, 9}) {
        const Problem p = {m,           64,   12, artifact::ElementType_Int4,
                           isByColumns, block};
        comparePart<float>(
            p, numbers<float>({m, 64}, 5),
            quantizedInOrder(p.element, {64, 12},
                             isByColumns ? std::vector<int>{1, 0}
                                         : std::vector<int>{0, 1}),
            Tensor::filled<float>({m, 12}, 9), 160 / block,
            [&] {
              return Attributes()
                  .ints("axis", {0})
                  .ints("block_size", {block})
                  .ints("starts", {1, 0})
                  .ints("locals", {2, 32})
                  .ints("globals", {5, 32});
            },
            1e-4);
      }
}

/// Operands that begin anywhere, batches of rows, and matrices of their own.
TEST(QuantizedProducts, multiplyViews) {
  const auto attributes = [] {
    return Attributes().ints("axis", {1}).ints("block_size", {16});
  };
  for (const int64_t m : {1, 2, 6})
    for (const int64_t matrices : {1, 3}) {
      const Tensor x = numbers<float>({3, m, 32}, 1);
      const Tensor weights = quantizedInOrder(artifact::ElementType_Int8,
                                              {matrices, 32, 8}, {0, 2, 1})
                                 .broadcast({3, 32, 8});
      const Tensor scale =
          scales<float>({matrices, 2, 8}, 3).broadcast({3, 2, 8});
      const Tensor out = Tensor::filled<float>({3, m, 8}, 9);
      for (const Tensor &left : {x, x.scattered()})
        for (const Tensor &result : {out, out.scattered()})
          compare("MatMulDequantized", {left, weights, scale}, {result},
                  attributes(), 1e-4);
      const Tensor wide =
          quantized(artifact::ElementType_Int8, {matrices, 9, 33});
      compare(
          "MatMulDequantized",
          {x,
           wide.permuted({0, 2, 1}).slice(1, 1, 32).slice(2, 1, 8).broadcast(
               {3, 32, 8}),
           scale},
          {out}, attributes(), 1e-4);
    }
}

template <typename A, typename B>
void compareIntegers(const Dims &batch, int64_t m, int64_t k, int64_t n) {
  SCOPED_TRACE(::testing::Message() << m << ", " << k << ", " << n);
  const auto dims = [&](int64_t rows, int64_t columns) {
    Dims all = batch;
    all.push_back(rows);
    all.push_back(columns);
    return all;
  };
  const Tensor a = numbers<A>(dims(m, k), 1), b = numbers<B>({k, n}, 2);
  const Tensor columns = numbers<B>({n, k}, 3).permuted({1, 0});
  const Tensor zeroA = numbers<A>({m, 1}, 4).broadcast(dims(m, 1));
  const Tensor zeroB = numbers<B>({n}, 5).broadcast(dims(1, n));
  const Tensor out = Tensor::filled<int32_t>(dims(m, n), 9);
  const auto all = [&](const Tensor &matrix) {
    return matrix.broadcast(dims(k, n));
  };
  compare("MatMulInteger", {a, all(b)}, {out}, {}, kExact);
  compare("MatMulInteger", {a, all(columns), zeroA}, {out}, {}, kExact);
  compare("MatMulInteger", {a.scattered(), all(b), zeroA, zeroB}, {out}, {},
          kExact);
  compare("MatMulInteger", {a, all(columns), Tensor::absent(), zeroB},
          {out.scattered()}, {}, kExact);
  compare("MatMulInteger",
          {a, numbers<B>(dims(k, n), 6), zeroA, numbers<B>(dims(1, n), 7)},
          {out}, {}, kExact);
}

TEST(QuantizedProducts, multiplyIntegersExactly) {
  forTypes(TypeList<int8_t, uint8_t>(), [](auto left) {
    forTypes(TypeList<int8_t, uint8_t>(), [](auto right) {
      using A = typename decltype(left)::Type;
      using B = typename decltype(right)::Type;
      compareIntegers<A, B>({}, 1, 32, 8);
      compareIntegers<A, B>({}, 8, 40, 132);
      compareIntegers<A, B>({}, 3, 27, 5);
      compareIntegers<A, B>({3}, 2, 24, 12);
      compareIntegers<A, B>({}, 9, 16, 4);
      compareIntegers<A, B>({}, 70, 75, 67);
      compareIntegers<A, B>({2, 2}, 13, 65, 6);
    });
  });
  compareIntegers<uint8_t, int8_t>({}, 1, 2048, 12); // in splits
  compareIntegers<uint8_t, int8_t>({}, 11, 1100, 7);
  compareIntegers<int8_t, int8_t>({}, 0, 4, 4);
  compareIntegers<int8_t, int8_t>({2}, 4, 0, 4);
  compareIntegers<int8_t, int8_t>({}, 9, 0, 4);
  compareIntegers<int8_t, int8_t>({}, 4, 4, 0);
}

} // namespace
} // namespace shardc::testing
