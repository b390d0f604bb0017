//===- ReshapeFactorsTest.cpp - Common factors of two shapes --------------===//

#include "dialects/onnx/ShardingRule.h"

#include <gtest/gtest.h>

using namespace shardc;
using namespace shardc::onnx;
using dist::DimExpr;

namespace {

llvm::SmallVector<DimExpr> parse(llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef> parts;
  llvm::SmallVector<DimExpr> dims;
  text.split(parts, ',', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef part : parts)
    dims.push_back(*dist::parseDimExpr(part));
  return dims;
}

/// "(b s)(6)" with a '!' before what needs replication.
std::string str(const ReshapeFactors &factors, const RuleTensor &tensor) {
  std::string text;
  for (const RuleDim &dim : tensor) {
    text += "(";
    for (const auto &segment : dim.segments)
      for (size_t i = 0; i < segment.size(); ++i) {
        const RuleFactor &factor = factors.factors[segment[i]];
        text += i ? " " : "";
        text += factor.factorClass == FactorClass::NeedsReplication ? "!" : "";
        text += factor.size.str();
      }
    text += ")";
  }
  return text;
}

std::string reshape(llvm::StringRef from, llvm::StringRef to) {
  ReshapeFactors factors = reshapeFactors(parse(from), parse(to));
  return str(factors, factors.from) + " -> " + str(factors, factors.to);
}

TEST(ReshapeFactors, SplitsAndMerges) {
  EXPECT_EQ(reshape("b,s,96", "b,s,6,16"), "(b)(s)(6 16) -> (b)(s)(6)(16)");
  EXPECT_EQ(reshape("b,s,96", "b*s,6,16"), "(b)(s)(6 16) -> (b s)(6)(16)");
  EXPECT_EQ(reshape("b*s,96", "b,s,96"), "(b s)(96) -> (b)(s)(96)");
  EXPECT_EQ(reshape("b,4,2,p+s,16", "b,8,p+s,16"),
            "(b)(4)(2)(p + s)(16) -> (b)(4 2)(p + s)(16)");
}

TEST(ReshapeFactors, IgnoresOnes) {
  EXPECT_EQ(reshape("1,b,1", "b,1,1,1"), "()(b)() -> (b)()()()");
  EXPECT_EQ(reshape("1", ""), "() -> ");
}

TEST(ReshapeFactors, SharesTheCommonDivisorOfTheMajorDims) {
  EXPECT_EQ(reshape("4,3,s", "6,2,s"), "(2 !2)(!3)(s) -> (2 !3)(!2)(s)");
  EXPECT_EQ(reshape("4*s,3", "6*s,2"), "(s * 2 !2)(!3) -> (s * 2 !3)(!2)");
}

TEST(ReshapeFactors, OpaqueUpToWhereTheProductsAgree) {
  EXPECT_EQ(reshape("2,6,b", "3,4,b"), "(!2)(!6)(b) -> (!3)(!4)(b)");
}

TEST(ReshapeFactors, EmptyTensorsHaveNoCommonFactors) {
  EXPECT_EQ(reshape("0,5", "5,0"), "(!0)(!5) -> (!5)(!0)");
}

TEST(ReshapeFactors, UnequalProductsAreOpaqueToTheEnd) {
  EXPECT_EQ(reshape("b,s", "b,s floordiv 2,2"),
            "(b)(!s) -> (b)(!(s floordiv 2))(!2)");
}

} // namespace
