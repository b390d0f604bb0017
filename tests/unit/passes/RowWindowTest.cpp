//===- RowWindowTest.cpp - Views of rows that become longer ---------------===//

#include "passes/lower/RowWindow.h"

#include <gtest/gtest.h>

using namespace shardc;
using namespace shardc::lower;
using dist::DimExpr;

namespace {

const DimExpr b = DimExpr::symbol("b"), s = DimExpr::symbol("s");
/// Rows of 32 behind 96 others.
const RowWindow window = {32, 128, 96};

void expectLayout(const std::optional<StridedLayout> &found,
                  const StridedLayout &expected) {
  ASSERT_TRUE(found);
  EXPECT_EQ(found->dims, expected.dims);
  EXPECT_EQ(found->strides, expected.strides);
  EXPECT_EQ(found->offset, expected.offset);
}

TEST(RowWindow, wholeRowsAndHeadsOfThem) {
  expectLayout(withinRows({{b, s, 32}, {s * 32, 32, 1}, 0}, window),
               {{b, s, 32}, {s * 128, 128, 1}, 96});
  expectLayout(withinRows({{b, 2, s, 16}, {s * 32, 16, 32, 1}, 0}, window),
               {{b, 2, s, 16}, {s * 128, 16, 128, 1}, 96});
}

TEST(RowWindow, offsetsOfRowsAndOfColumns) {
  expectLayout(withinRows({{b, 32}, {32, 1}, s * 64}, window),
               {{b, 32}, {128, 1}, s * 256 + 96});
  expectLayout(withinRows({{b, 16}, {32, 1}, 16}, window),
               {{b, 16}, {128, 1}, 112});
}

TEST(RowWindow, dimsOfOneAndDimsThatRepeat) {
  expectLayout(withinRows({{1, b, 4, 8}, {7, 0, 32, 1}, 0}, window),
               {{1, b, 4, 8}, {7, 0, 128, 1}, 96});
}

TEST(RowWindow, nothingGoesOnIntoTheNextRow) {
  EXPECT_FALSE(withinRows({{b * 32}, {1}, 0}, window));
  EXPECT_FALSE(withinRows({{4, 16}, {16, 1}, 0}, window));
  EXPECT_FALSE(withinRows({{b, 17}, {32, 1}, 16}, window));
  EXPECT_FALSE(withinRows({{b, s}, {32, 1}, 0}, window)); // s may be 33
}

TEST(RowWindow, sizesOfARankMayBeExpressions) {
  const DimExpr own = DimExpr::symbol("own");
  expectLayout(withinRows({{b, s, own * 16}, {s * own * 16, own * 16, 1}, 0},
                          {own * 16, own * 24, own * 8}),
               {{b, s, own * 16}, {s * own * 24, own * 24, 1}, own * 8});
}

} // namespace
