//===- Float8ProductTest.cpp - Products of two operands of float8 ---------===//
#include "tests/conformance/cuda/KernelComparison.h"
#include "tests/conformance/cuda/KernelTypes.h"
#include "tests/conformance/cuda/QuantizedTensors.h"

#include <cstdlib>

namespace shardc::testing {
namespace {

using namespace runtime::host;
using artifact::ElementType;

constexpr ElementType kE4M3 = artifact::ElementType_Float8E4M3FN,
                      kE5M2 = artifact::ElementType_Float8E5M2;

/// A [..., m, k] and B [..., k, n].
struct Problem {
  int64_t m, k, n;
  ElementType a = kE4M3, b = kE4M3;
  bool isByColumns = true; ///< as B lies
};

/// Sums of k products of numbers to 8 by 8, which the scales make small.
double toleranceFor(const Problem &p, ElementType element) {
  return 4 * toleranceOf(element) * std::max(1.0, double(p.k) / 64);
}

/// With one scale for each operand, one for each column and one for each row.
template <typename T> void compareProduct(const Problem &p) {
  SCOPED_TRACE(::testing::Message()
               << p.m << ", " << p.k << ", " << p.n << " of "
               << EnumNameElementType(p.a) << " and "
               << EnumNameElementType(p.b)
               << (p.isByColumns ? ", by columns" : ", by rows"));
  const Tensor a = quantized(p.a, {p.m, p.k}, 1);
  const Tensor b = quantizedInOrder(
      p.b, {p.k, p.n},
      p.isByColumns ? std::vector<int>{1, 0} : std::vector<int>{0, 1}, 2);
  const Tensor out = Tensor::filled<T>({p.m, p.n}, T());
  const double tolerance = toleranceFor(p, elementTypeOf<T>());
  for (const Dims &rows : {Dims{1, 1}, Dims{p.m, 1}})
    for (const Dims &columns : {Dims{1, 1}, Dims{1, p.n}}) {
      const Tensor scaleA = scales<T>(rows, 3).broadcast({p.m, p.k});
      const Tensor scaleB = scales<T>(columns, 4).broadcast({p.k, p.n});
      compare("MatMulFloat8", {a, b, scaleA, scaleB}, {out}, {}, tolerance);
      compare("MatMulFloat8", {a.scattered(), b, scaleA, scaleB},
              {out.scattered()}, {}, tolerance);
    }
}

using Results = TypeList<float, Float16, BFloat16>;

TEST(Float8Products, multiplyWhatTensorCoresTake) {
  forTypes(Results(), [](auto tag) {
    using T = typename decltype(tag)::Type;
    for (const bool isByColumns : {true, false})
      for (const auto &[a, b] :
           std::initializer_list<std::pair<ElementType, ElementType>>{
               {kE4M3, kE4M3}, {kE4M3, kE5M2}, {kE5M2, kE4M3}, {kE5M2, kE5M2}})
        for (const int64_t m : {1, 8, 9, 37})
          compareProduct<T>({m, 64, 48, a, b, isByColumns});
  });
}

/// No multiples of 16, other formats, f64, nothing to sum.
TEST(Float8Products, multiplyWhatTheyDoNotTake) {
  for (const bool isByColumns : {true, false}) {
    for (const int64_t m : {0, 3, 12}) {
      compareProduct<float>({m, 40, 48, kE4M3, kE4M3, isByColumns});
      compareProduct<float>({m, 48, 20, kE4M3, kE4M3, isByColumns});
      compareProduct<float>({m, 0, 16, kE4M3, kE4M3, isByColumns});
      compareProduct<float>({m, 16, 0, kE4M3, kE4M3, isByColumns});
      compareProduct<double>({m, 32, 16, kE4M3, kE4M3, isByColumns});
    }
    compareProduct<float>(
        {20, 32, 16, artifact::ElementType_Float8E4M3FNUZ, kE4M3, isByColumns});
  }
}

TEST(Float8Products, haveAMatrixForEachBatch) {
  const Dims dims = {2, 3, 20, 16};
  const Tensor scaleA = scales<float>({1}, 3).broadcast({2, 3, 20, 32}),
               scaleB =
                   scales<float>({2, 1, 1, 16}, 4).broadcast({2, 3, 32, 16}),
               out = Tensor::filled<float>(dims, 9);
  for (const Tensor &a :
       {quantized(kE4M3, {2, 3, 20, 32}, 1),
        quantized(kE4M3, {3, 20, 32}, 1).broadcast({2, 3, 20, 32}),
        quantized(kE4M3, {2, 1, 20, 32}, 1).broadcast({2, 3, 20, 32}),
        quantized(kE4M3, {3, 1, 32}, 1).broadcast({2, 3, 20, 32})})
    for (const Tensor &b :
         {quantizedInOrder(kE4M3, {2, 3, 32, 16}, {0, 1, 3, 2}),
          quantized(kE4M3, {2, 3, 32, 16}, 5),
          quantized(kE4M3, {32, 16}, 5).broadcast({2, 3, 32, 16}),
          quantizedInOrder(kE4M3, {2, 1, 32, 16}, {0, 1, 3, 2})
              .broadcast({2, 3, 32, 16})})
      for (const Tensor &result : {out, out.scattered()})
        compare("MatMulFloat8", {a, b, scaleA, scaleB}, {result}, {}, 1e-4);
}

/// Operands that begin at no multiple of 16.
TEST(Float8Products, multiplyViews) {
  const Tensor a = quantized(kE4M3, {24, 64}, 1).slice(1, 5, 32),
               b = quantizedInOrder(kE4M3, {48, 32}, {1, 0}).slice(0, 3, 32),
               scaleA = scales<float>({1}, 3).broadcast({24, 32}),
               scaleB = scales<float>({1}, 4).broadcast({32, 32});
  compare("MatMulFloat8", {a, b, scaleA, scaleB},
          {Tensor::filled<float>({24, 32}, 9)}, {}, 1e-4);
  compare("MatMulFloat8", {a, b, scaleA, scaleB},
          {Tensor::filled<float>({24, 33}, 9).slice(1, 1, 32)}, {}, 1e-4);
}

/// The bytes are multiplied, not numbers of them, which would be rounded: 1.125
/// times 1 + 3/128 is no bf16.
TEST(Float8Products, roundOnce) {
  Tensor bytes = Tensor::filled<uint8_t>({16, 16}, 0x39);
  bytes.view.element = kE4M3;
  const float scale = 1.0234375f, number = 1.125f * scale;
  const Tensor scales =
      Tensor::filled<BFloat16>({1}, BFloat16(scale)).broadcast({16, 16});
  const Tensor out = Tensor::filled<BFloat16>({16, 16}, BFloat16(0.f));
  ASSERT_TRUE(runOnDevice("MatMulFloat8", {bytes, bytes, scales, scales}, {out})
                  .isOk());
  const float rounded = BFloat16(number);
  ASSERT_NE(float(BFloat16(16 * rounded * rounded)),
            float(BFloat16(16 * number * number)));
  EXPECT_EQ(out.at<BFloat16>({3, 4}), float(BFloat16(16 * number * number)));
}

class Float8Fallback : public ::testing::TestWithParam<const char *> {};

TEST_P(Float8Fallback, multipliesNumbers) {
  setenv(GetParam(),
         std::string_view(GetParam()).ends_with("FLOAT8") ? "0" : "80", 1);
  for (const bool isByColumns : {true, false})
    compareProduct<float>(
        {23, 80, 32, kE4M3, kE4M3, isByColumns}); // no other's
  unsetenv(GetParam());
}

INSTANTIATE_TEST_SUITE_P(WithoutTensorCores, Float8Fallback,
                         ::testing::Values("SHARDC_SIMULATED_FLOAT8",
                                           "SHARDC_SIMULATED_CAPABILITY"));

} // namespace
} // namespace shardc::testing
