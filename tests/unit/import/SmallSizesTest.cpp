// Sizes and numbers that regions are tried on.
#include "passes/import/validate/SmallSizes.h"
#include "dialects/onnx/evaluate/Tensor.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"

#include "gtest/gtest.h"

#include <cmath>

namespace shardc::import {
namespace {

using onnx::evaluate::Precision;
using onnx::evaluate::Sizes;
using onnx::evaluate::stored;

int64_t smallOf(const Numbers &numbers, int64_t number) {
  auto found = numbers.find(number);
  return found == numbers.end() ? number : found->second;
}

TEST(ShrunkNumbers, KeepSumsAndProducts) {
  const auto small = shrunkNumbers({64, 128, 8192}, {4, true});
  ASSERT_TRUE(small);
  const int64_t half = smallOf(*small, 64), head = smallOf(*small, 128);
  EXPECT_LT(head, 16);
  EXPECT_EQ(half + half, head);
  EXPECT_EQ(half * head, smallOf(*small, 8192));
}

TEST(ShrunkNumbers, KeepNeighbours) {
  EXPECT_FALSE(shrunkNumbers({64, 4095, 4096}, {4, true})); // 64 * 64, 4095 + 1
  const auto small = shrunkNumbers({64, 4095, 4096}, {4, false});
  ASSERT_TRUE(small);
  EXPECT_EQ(smallOf(*small, 4095) + 1, smallOf(*small, 4096));
  EXPECT_LT(smallOf(*small, 4096), 16);
}

TEST(ShrunkNumbers, LeaveWhatIsPinned) {
  const auto small = shrunkNumbers({8, 2048}, {16, true});
  ASSERT_TRUE(small);
  EXPECT_EQ(smallOf(*small, 8), 8);
  EXPECT_EQ(smallOf(*small, 2048) % 8, 0); // which 8 divides
  EXPECT_LT(smallOf(*small, 2048), 64);
}

TEST(SmallSizes, SatisfyGuards) {
  using dist::DimExpr;
  const DimExpr seq = DimExpr::symbol("seq"), past = DimExpr::symbol("past");
  const DimExpr total = DimExpr::symbol("total");
  SizeFacts facts;
  facts.symbols = {"seq", "past", "total"};
  facts.sizes = {seq - 1};
  facts.guards = {{total, past + seq, '='}, {seq, 3, '<'}};
  const auto found = smallSizes(facts, Numbers());
  ASSERT_GE(found.size(), 3u);
  bool hasNoPast = false, hasOne = false;
  for (const Sizes &sizes : found) {
    EXPECT_EQ(sizes.of(total), *sizes.of(past) + *sizes.of(seq));
    EXPECT_GE(*sizes.of(seq), 1);
    EXPECT_LE(*sizes.of(seq), 3);
    hasNoPast |= sizes.of(past) == 0;
    hasOne |= sizes.of(seq) == 1;
  }
  EXPECT_TRUE(hasNoPast && hasOne);
}

/// (n - b) (n - 2 b) (n - 3 b - 2) = 0
TEST(SmallSizes, AnEquationMayHoldInSeveralWays) {
  using dist::DimExpr;
  const DimExpr b = DimExpr::symbol("b"), n = DimExpr::symbol("n");
  SizeFacts facts;
  facts.symbols = {"b", "n"};
  facts.guards = {{n * n * n + (11 * b * b + 6 * b) * n,
                   (6 * b + 2) * n * n + 6 * b * b * b + 4 * b * b, '='}};
  bool isSame = false, isTwice = false, isMore = false;
  for (const Sizes &sizes : smallSizes(facts, Numbers())) {
    const int64_t batch = *sizes.of(b), size = *sizes.of(n);
    EXPECT_TRUE(size == batch || size == 2 * batch || size == 3 * batch + 2);
    isSame |= batch > 1 && size == batch;
    isTwice |= batch > 1 && size == 2 * batch;
    isMore |= batch > 1 && size == 3 * batch + 2;
  }
  EXPECT_TRUE(isSame && isTwice && isMore);
}

TEST(Tensor, StoresInItsType) {
  mlir::MLIRContext context;
  mlir::Builder builder(&context);
  const mlir::Type f16 = builder.getF16Type(), bf16 = builder.getBF16Type();
  const mlir::Type f32 = builder.getF32Type(), i8 = builder.getI8Type();
  EXPECT_EQ(stored(f16, 1.0004, Precision::Rounded), 1.0);
  EXPECT_EQ(stored(f16, 1.0005, Precision::Rounded), 1.0009765625);
  EXPECT_EQ(stored(f16, 1.0004, Precision::Exact), 1.0004);
  for (Precision precision : {Precision::Rounded, Precision::Exact}) {
    EXPECT_EQ(stored(f16, 65520, precision), INFINITY);
    EXPECT_EQ(stored(f16, -70000, precision), -INFINITY);
    EXPECT_EQ(stored(f32, 1e39, precision), INFINITY);
    EXPECT_EQ(stored(bf16, 3.4e38, precision), INFINITY);
    EXPECT_TRUE(std::isnan(stored(f16, NAN, precision)));
    EXPECT_EQ(stored(i8, 200, precision), -56);
  }
  EXPECT_EQ(stored(f16, 65519, Precision::Rounded), 65504);
  EXPECT_EQ(stored(f16, 6e-8, Precision::Rounded), 0x1p-24);
  EXPECT_EQ(stored(bf16, 1.003, Precision::Rounded), 1.0);
  EXPECT_EQ(stored(f32, 0.1, Precision::Rounded), double(0.1f));
}

} // namespace
} // namespace shardc::import
