//===- RankClassesTest.cpp - Ranks for which sizes are the same -----------===//

#include "compiler/report/RankClasses.h"

#include <gtest/gtest.h>

using namespace shardc;
using dist::DimExpr;

namespace {

const dist::Mesh kMesh{{{"pp", 2}, {"cp", 4}, {"tp", 8}}};

/// What is asked of rank r is r itself.
std::vector<int64_t> answers(report::RankClasses<int64_t> &classes,
                             unsigned &numAsked) {
  std::vector<int64_t> found;
  for (int64_t rank = 0; rank < kMesh.numRanks(); ++rank)
    found.push_back(classes.of(rank, [&] {
      ++numAsked;
      return rank;
    }));
  return found;
}

TEST(RankClasses, OneIsAskedWhereNothingDependsOnTheRank) {
  report::RankClasses<int64_t> classes(kMesh);
  classes.use(DimExpr::symbol("tp") * 4);
  unsigned numAsked = 0;
  EXPECT_EQ(answers(classes, numAsked), std::vector<int64_t>(64, 0));
  EXPECT_EQ(numAsked, 1u);
}

TEST(RankClasses, RanksOfTheSameCoordinatesAreAlike) {
  report::RankClasses<int64_t> classes(kMesh);
  classes.use(DimExpr::floorDiv(DimExpr::coordinate("tp") * 6, 8));
  classes.use(DimExpr::coordinate("pp") + 1);
  unsigned numAsked = 0;
  const std::vector<int64_t> found = answers(classes, numAsked);
  EXPECT_EQ(numAsked, 16u);
  for (int64_t rank = 0; rank < kMesh.numRanks(); ++rank)
    for (llvm::StringRef axis : {"pp", "tp"})
      EXPECT_EQ(kMesh.coordinateAlong(found[rank], axis),
                kMesh.coordinateAlong(rank, axis));
}

} // namespace
