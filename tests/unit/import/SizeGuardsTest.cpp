// Which guards decide of the sizes of a region.
#include "passes/import/validate/SizeGuards.h"

#include "gtest/gtest.h"

#include <string>

namespace shardc::import {
namespace {

using dist::DimExpr;

DimExpr sym(llvm::StringRef name) { return DimExpr::symbol(name); }

std::string about(const SizeGuards &guards,
                  std::initializer_list<const char *> symbols,
                  std::initializer_list<const char *> fixed = {}) {
  llvm::StringSet<> asked, given;
  for (const char *name : symbols)
    asked.insert(name);
  for (const char *name : fixed)
    given.insert(name);
  std::string text;
  for (const SizeGuard &guard : guards.about(asked, given))
    text += (text.empty() ? "" : ", ") + guard.lhs.str() + " " + guard.kind +
            " " + guard.rhs.str();
  return text;
}

SizeGuards guardsOf(std::initializer_list<SizeGuard> list) {
  SizeGuards guards;
  guards.assign(llvm::ArrayRef(list));
  return guards;
}

TEST(SizeGuards, NamesOfOtherSizesSayNothing) {
  const SizeGuards star = guardsOf({{sym("b"), sym("s1"), '='},
                                    {sym("s2"), sym("b"), '='},
                                    {sym("b"), 64, '<'},
                                    {sym("c"), 8, '<'}});
  EXPECT_EQ(about(star, {"b"}), "b < 64");
  EXPECT_EQ(about(star, {"b", "s1"}), "b = s1, b < 64");
  const SizeGuards chain = guardsOf({{sym("b"), sym("s1"), '='},
                                     {sym("s1"), sym("s2"), '='},
                                     {sym("s2"), sym("s3") + 1, '='}});
  EXPECT_EQ(about(chain, {"b"}), "b = s1, s1 = s2, s2 = s3 + 1");
  EXPECT_EQ(about(chain, {"s3"}), "");
}

TEST(SizeGuards, WhatOtherSizesHoldCounts) {
  EXPECT_EQ(
      about(guardsOf({{sym("b"), sym("s"), '='}, {sym("s"), 64, '<'}}), {"b"}),
      "b = s, s < 64");
  // No s is as small as b - 8 may be, or as large as it has to be.
  EXPECT_EQ(about(guardsOf({{sym("s"), sym("b") - 8, '='}}), {"b"}),
            "s = b - 8");
  EXPECT_EQ(about(guardsOf({{sym("s"), sym("b") - 8, '<'}}), {"b"}),
            "s < b - 8");
  EXPECT_EQ(about(guardsOf({{sym("s"), sym("b") - 8, '>'}}), {"b"}), "");
  EXPECT_EQ(about(guardsOf({{sym("b") - 8, sym("s"), '<'}}), {"b"}), "");
  EXPECT_EQ(about(guardsOf({{sym("s"), sym("s") * sym("b"), '='}}), {"b"}),
            "s = b * s");
  EXPECT_EQ(about(guardsOf({{sym("s"), sym("b"), '='}}), {"b"}, {"s"}),
            "s = b");
}

TEST(SizeGuards, KeepACommonBeginning) {
  const SizeGuard first{sym("b"), 4, '<'}, second{sym("b"), 2, '>'};
  const SizeGuard third{sym("b"), 3, '='};
  SizeGuards guards;
  guards.assign({first, second});
  guards.assign({first, third});
  EXPECT_EQ(about(guards, {"b"}), "b < 4, b = 3");
  guards.assign({first});
  EXPECT_EQ(about(guards, {"b"}), "b < 4");
  guards.assign({});
  EXPECT_EQ(about(guards, {"b"}), "");
}

} // namespace
} // namespace shardc::import
