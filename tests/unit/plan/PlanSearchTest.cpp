//===- PlanSearchTest.cpp - What the busiest rank keeps -------------------===//

#include "passes/plan/PlanSearch.h"

#include <gtest/gtest.h>

using namespace shardc;
using plan::largestShare;

namespace {

TEST(PlanSearch, LargestShareIsThatOfTheBusiestRank) {
  EXPECT_DOUBLE_EQ(largestShare(4, 4), 1.0 / 4);
  EXPECT_DOUBLE_EQ(largestShare(6, 4), 2.0 / 6);
  EXPECT_DOUBLE_EQ(largestShare(2, 4), 1.0 / 2);
  EXPECT_DOUBLE_EQ(largestShare(5, 1), 1.0);
}

TEST(PlanSearch, SymbolicSizesSplitEvenly) {
  EXPECT_DOUBLE_EQ(largestShare(dist::DimExpr::symbol("s"), 4), 1.0 / 4);
  EXPECT_DOUBLE_EQ(largestShare(0, 4), 1.0 / 4);
}

TEST(PlanSearch, RoundingGivesRanksMoreThanTheirShares) {
  using plan::timesItsShare;
  const dist::Mesh mesh{{{"tp", 2, {3, 1}}, {"cp", 2}}};
  const dist::AxisRef tp{"tp", 1, 2}, cp{"cp", 1, 2};
  EXPECT_DOUBLE_EQ(timesItsShare(8, tp, mesh), 1);
  EXPECT_DOUBLE_EQ(timesItsShare(2, tp, mesh), 2) << "1 and 1";
  EXPECT_DOUBLE_EQ(timesItsShare(6, tp, mesh), 4.0 / 3) << "4 and 2";
  EXPECT_DOUBLE_EQ(timesItsShare(8, {cp, tp}, mesh), 1);
  EXPECT_DOUBLE_EQ(timesItsShare(3, cp, mesh), 4.0 / 3);
  EXPECT_DOUBLE_EQ(timesItsShare(0, tp, mesh), 1);
}

TEST(PlanSearch, LargestShareAgreesWithOwnership) {
  for (int64_t n = 1; n <= 20; ++n)
    for (int64_t ways = 1; ways <= 9; ++ways) {
      int64_t most = 0;
      for (int64_t i = 0; i < ways; ++i)
        most = std::max(most, (i + 1) * n / ways - i * n / ways);
      EXPECT_DOUBLE_EQ(largestShare(n, ways), double(most) / n)
          << n << " over " << ways;
    }
}

} // namespace
