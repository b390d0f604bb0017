//===- RowCutTest.cpp - The rows of a value in parts ----------------------===//

#include "passes/lower/overlap/RowCut.h"

#include <gtest/gtest.h>

using namespace shardc;
using namespace shardc::lower;
using dist::DimExpr;

namespace {

const DimExpr b = DimExpr::symbol("b"), s = DimExpr::symbol("s");

int64_t valueOf(DimExpr expr, int64_t batch, int64_t seq) {
  return *expr.evaluate([&](llvm::StringRef name, bool) {
    return std::optional<int64_t>(name == "b" ? batch : seq);
  });
}

TEST(RowCut, anAllReduceIsCutAnywhere) {
  const RowCut cut = cutAnywhere(b * s);
  EXPECT_EQ(cut.numRows(), b * s);
  EXPECT_EQ(cut.rowsPerUnit(), DimExpr(1));
  EXPECT_FALSE(cut.split);
}

TEST(RowCut, eachRanksPartIsCutAlike) {
  const auto cut = cutEachPart({b, s * 4, 16}, 1, 4);
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->dims, (Sizes{b, 4, s}));
  EXPECT_EQ(cut->dim, 2u);
  EXPECT_EQ(cut->split, 1u);
  EXPECT_EQ(cut->rowsPerUnit(), b * 4);
  EXPECT_FALSE(cutEachPart({b, 7, 16}, 1, 4)); // parts are not equal
  EXPECT_FALSE(cutEachPart({b, s * 4}, 1, 4)); // columns are not cut
}

/// Parts of a symbolic size are cut where they are equal, else nothing is.
TEST(RowCut, partsThatMayBeEqualAreCutWhereTheyAre) {
  const auto cut = cutEachPart({b, s, 16}, 1, 4);
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->wholeDims(), (Sizes{b, s}));
  EXPECT_EQ(cut->numRows(), b * s);
  const auto uncut = uncutRows(*cut);
  ASSERT_TRUE(uncut);
  EXPECT_EQ(uncut->first.dims, (Sizes{b, s}));
  EXPECT_EQ(uncut->first.dim, 1u);
  for (int64_t seq = 0; seq < 13; ++seq) {
    const bool isEqual = seq % 4 == 0;
    EXPECT_EQ(valueOf(cut->dims[cut->dim], 1, seq), isEqual ? seq / 4 : 0);
    EXPECT_EQ(valueOf(uncut->second.start, 1, seq), 0);
    EXPECT_EQ(valueOf(uncut->second.size, 1, seq), isEqual ? 0 : seq);
  }
  EXPECT_FALSE(uncutRows(*cutEachPart({b, s * 4, 16}, 1, 4)));
  EXPECT_FALSE(uncutRows(cutAnywhere(b * s)));
  const auto rows = withRows(StridedLayout::contiguous({b, s, 16}), *cut);
  ASSERT_TRUE(rows);
  EXPECT_EQ(rows->strides[1], cut->dims[2] * 16);
  EXPECT_EQ(rows->strides[2], DimExpr(16));
}

TEST(RowCut, otherDimsAreCutOutside) {
  const auto cut = cutOutside({b, s, 16}, 1);
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->dims, (Sizes{b, s}));
  EXPECT_EQ(cut->dim, 0u);
  EXPECT_EQ(cut->rowsPerUnit(), s);
  EXPECT_FALSE(cutOutside({1, s, 16}, 1));
  EXPECT_FALSE(cutOutside({s, 16}, 0));
}

/// Every row is in one part, in order, whatever the sizes turn out to be.
TEST(RowCut, partsCoverAllRowsOnce) {
  for (const RowCut &cut : {cutAnywhere(b * s), *cutOutside({b, s, 16}, 1),
                            *cutEachPart({b, s * 3, 16}, 1, 3),
                            *cutEachPart({b, s, 16}, 1, 3), cutAnywhere(7)})
    for (int64_t parts : {1, 2, 3, 5})
      for (int64_t least : {1, 4, 100})
        for (int64_t batch : {0, 1, 3, 8})
          for (int64_t seq : {0, 1, 2, 11, 64}) {
            int64_t at = 0;
            for (const RowPart &part : partsOf(cut, parts, least)) {
              EXPECT_EQ(valueOf(part.start, batch, seq), at);
              EXPECT_GE(valueOf(part.size, batch, seq), 0);
              at += valueOf(part.size, batch, seq);
            }
            EXPECT_EQ(at, valueOf(cut.dims[cut.dim], batch, seq));
          }
}

TEST(RowCut, fewRowsAreThePartThatComesFirst) {
  const auto parts = partsOf(cutAnywhere(b * s), 4, 128);
  EXPECT_EQ(valueOf(parts[0].size, 1, 100), 100);
  EXPECT_EQ(valueOf(parts[1].size, 1, 100), 0);
  EXPECT_EQ(valueOf(parts[0].size, 2, 512), 256);
  EXPECT_EQ(valueOf(parts[3].size, 2, 512), 256);
}

TEST(RowCut, knownSizesAreNumbers) {
  const auto parts = partsOf(cutAnywhere(64), 2, 1);
  EXPECT_TRUE(parts[0].size.isConstant(32));
  EXPECT_TRUE(parts[1].start.isConstant(32));
}

TEST(RowCut, rowsAreWindowsOrNothing) {
  const StridedLayout packed = StridedLayout::contiguous({b, s, 16});
  EXPECT_EQ(withRows(packed, b * s)->strides, (Sizes{16, 1}));
  EXPECT_FALSE(withRows(packed, b)); // other rows
  const StridedLayout turned =
      StridedLayout::contiguous({s, b, 16}).transposed({1, 0, 2});
  EXPECT_FALSE(withRows(turned, b * s));
  EXPECT_TRUE(withRows(turned, {b, s}));
}

} // namespace
