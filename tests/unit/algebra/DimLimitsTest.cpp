//===- DimLimitsTest.cpp - Sizes that are no expressions any more ---------===//

#include "dialects/dist/algebra/DimLimits.h"

#include "llvm/ADT/Twine.h"

#include <gtest/gtest.h>

#include <limits>

using namespace shardc::dist;

namespace {

constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
constexpr int64_t kSmallest = std::numeric_limits<int64_t>::min();

DimExpr numbered(llvm::StringRef name, int64_t number) {
  return DimExpr::symbol((name + llvm::Twine(number)).str());
}

TEST(DimLimits, SumsManySizesAtOnce) {
  DimExpr a = DimExpr::symbol("a"), b = DimExpr::symbol("b");
  EXPECT_EQ(sum({}), DimExpr(int64_t(0)));
  EXPECT_EQ(sum({a, 3, b, a}), a * 2 + b + 3);
  EXPECT_EQ(sum({a, DimExpr(-1) * a}), DimExpr(int64_t(0)));
}

TEST(DimLimits, PowersOfSumsBecomeTooLarge) {
  DimExpr power = DimExpr::symbol("a") + DimExpr::symbol("b");
  for (int i = 0; i < 40; ++i)
    power = power * power;
  EXPECT_TRUE(isTooLarge(power));
  DimExpr degree = DimExpr::symbol("a");
  for (int i = 0; i < 40; ++i)
    degree = degree * degree;
  EXPECT_TRUE(isTooLarge(degree));
}

TEST(DimLimits, SharedAtomsBecomeTooLarge) {
  DimExpr size = DimExpr::symbol("a");
  for (int i = 0; i < 40; ++i)
    size = DimExpr::floorDiv(size, 3) + DimExpr::mod(size, 5);
  EXPECT_TRUE(isTooLarge(size));
}

TEST(DimLimits, AtomsInAtomsBecomeTooLarge) {
  DimExpr size = DimExpr::symbol("a");
  for (int i = 0; i < 100000; ++i)
    size = DimExpr::floorDiv(size - 1, 3);
  EXPECT_TRUE(isTooLarge(size));
}

TEST(DimLimits, CoefficientsBeyond64BitsAreTooLarge) {
  DimExpr a = DimExpr::symbol("a");
  EXPECT_TRUE(isTooLarge(DimExpr(kLargest) + 1));
  EXPECT_TRUE(isTooLarge(a * kLargest + a));
  EXPECT_TRUE(isTooLarge(a * kLargest * 2));
  EXPECT_TRUE(isTooLarge(DimExpr(int64_t(0)) - DimExpr(kSmallest)));
  EXPECT_EQ(DimExpr::min(kSmallest, 5), DimExpr(kSmallest));
  EXPECT_EQ(DimExpr::max(kLargest, -5), DimExpr(kLargest));
  EXPECT_TRUE(isTooLarge(DimExpr::floorDiv(kSmallest, -1)));
  EXPECT_TRUE(isTooLarge(a + kSmallest));
}

TEST(DimLimits, RemaindersNeedNoProduct) {
  DimExpr a = DimExpr::symbol("a");
  EXPECT_EQ(DimExpr::mod(kSmallest, -1), DimExpr(int64_t(0)));
  EXPECT_EQ(DimExpr::mod(kSmallest, 3), DimExpr(int64_t(1)));
  EXPECT_EQ(DimExpr::mod(kLargest, -3), DimExpr(int64_t(-2)));
  auto smallest = [](llvm::StringRef, bool) {
    return std::optional(kSmallest);
  };
  EXPECT_EQ(DimExpr::mod(a, 3).evaluate(smallest), 1);
}

TEST(DimLimits, NothingIsKnownOfWhatIsTooLarge) {
  DimExpr large = DimExpr(kLargest) + 1, a = DimExpr::symbol("a");
  for (DimExpr size : {large, large + 1, large - large, large * a,
                       DimExpr::min(large, a), DimExpr::floorDiv(a, large)})
    EXPECT_TRUE(isTooLarge(size)) << size.str();
  EXPECT_FALSE(large.isKnownNonNegative());
  EXPECT_FALSE((a + large).isKnownAtLeast(0));
  EXPECT_FALSE(large.exactDiv(large));
  EXPECT_FALSE(large.asConstant() || large.asSymbol());
  auto one = [](llvm::StringRef, bool) { return std::optional<int64_t>(1); };
  EXPECT_FALSE(large.evaluate(one));
  EXPECT_FALSE(parseDimExpr(large.str()));
}

TEST(DimLimits, BoundsOfManyAtomsAreGivenUp) {
  // seq against 40 windows of it: any of 40! 2^40 ways to bound them.
  DimExpr seq = DimExpr::symbol("seq");
  DimExpr windows = 0;
  for (int64_t i = 0; i < 40; ++i)
    windows = windows + DimExpr::min(numbered("w", i), seq);
  EXPECT_FALSE((seq - windows).isKnownAtLeast(1));
  // What needs no more than a look at each atom is known all the same.
  EXPECT_TRUE(windows.isKnownNonNegative());
}

TEST(DimLimits, AFewAtomsAreBoundedInAnyOrder) {
  DimExpr a = DimExpr::symbol("a"), b = DimExpr::symbol("b");
  DimExpr positive = DimExpr::max(a - 7, 0);
  EXPECT_TRUE((positive - DimExpr::min(positive, b)).isKnownNonNegative());
  DimExpr rest = a * 4;
  for (int64_t i = 0; i < 4; ++i)
    rest = rest - DimExpr::min(numbered("w", i), a);
  EXPECT_TRUE(rest.isKnownNonNegative());
  EXPECT_FALSE((rest - 1).isKnownNonNegative());
}

TEST(DimLimits, ThousandsOfTermsAreDividedTermByTerm) {
  llvm::SmallVector<DimExpr> sizes;
  for (int64_t i = 0; i < 10000; ++i)
    sizes.push_back(numbered("s", i) * 6);
  DimExpr all = sum(sizes);
  EXPECT_EQ(all.exactDiv(6).value_or(0) * 6, all);
  EXPECT_FALSE(all.exactDiv(4));
  EXPECT_FALSE(all.exactDiv(numbered("s", 0) + numbered("s", 1)));
}

TEST(DimLimits, TextThatIsNoSizeIsNotParsed) {
  const std::string deep(1000000, '('), minus(1000000, '-');
  EXPECT_FALSE(parseDimExpr(deep));
  EXPECT_FALSE(parseDimExpr(deep + "a" + std::string(1000000, ')')));
  EXPECT_FALSE(parseDimExpr(minus + "a"));
  EXPECT_FALSE(parseDimExpr(std::string(2000, '(') + "a"));
  std::string product = "(a + b + c + d + e + f + g + h)", power = product;
  for (int i = 0; i < 20; ++i)
    power += " * " + product;
  EXPECT_FALSE(parseDimExpr(power));
  EXPECT_TRUE(parseDimExpr("((a))"));
}

} // namespace
