//===- LayoutChainTest.cpp - Reshape, Transpose, Reshape ------------------===//

#include "passes/import/layout/LayoutChain.h"

#include <gtest/gtest.h>

using namespace shardc;
using dist::DimExpr;
using Perm = llvm::SmallVector<int64_t>;

namespace {

const DimExpr b = DimExpr::symbol("b"), s = DimExpr::symbol("s");

TEST(LayoutChain, PermutesWhatWasMerged) {
  EXPECT_EQ(import::permutationOf({b, 6, s, 16}, {b * 6, s, 16}, {0, 2, 1}),
            (Perm{0, 1, 3, 2}));
  EXPECT_EQ(import::permutationOf({b, s, 6, 16}, {b * s, 96}, {1, 0}),
            (Perm{2, 3, 0, 1}));
}

TEST(LayoutChain, TakesOnesAlong) {
  EXPECT_EQ(import::permutationOf({b, 1, s}, {b, s}, {1, 0}), (Perm{1, 2, 0}));
  EXPECT_EQ(import::permutationOf({b, s}, {b, 1, s}, {2, 1, 0}), (Perm{1, 0}));
  EXPECT_EQ(import::permutationOf({b, 1}, {b}, {0}), (Perm{0, 1}));
}

TEST(LayoutChain, GivesNothingWhereADimIsCut) {
  EXPECT_FALSE(import::permutationOf({b, s, 96}, {b, s, 6, 16}, {0, 2, 1, 3}));
  EXPECT_FALSE(import::permutationOf({4, 3}, {6, 2}, {1, 0}));
}

} // namespace
