//===- ShardingTest.cpp - Normal form and ownership -----------------------===//

#include "tests/unit/Shardings.h"

using namespace shardc::dist;
using shardc::testing::axis;
using shardc::testing::onRank;
using shardc::testing::owned;

namespace {

TEST(Sharding, LocalSizesCountWhatARankOwns) {
  for (int64_t ways : {1, 2, 3, 4, 8}) {
    Mesh mesh{{{"tp", ways}}};
    for (int64_t n : {0, 1, 6, 7, 16}) {
      DimSharding dim = DimSharding::whole(n, {axis(ways)});
      int64_t total = 0;
      for (int64_t rank = 0; rank < ways; ++rank) {
        std::vector<int64_t> elements = owned(dim, mesh, rank);
        EXPECT_EQ(onRank(dim.localSize(mesh), mesh, rank),
                  int64_t(elements.size()))
            << n << " over " << ways;
        total += elements.size();
      }
      EXPECT_EQ(total, n);
    }
  }
}

TEST(Sharding, LowerBoundIsTheFirstOwnedElement) {
  Mesh mesh{{{"tp", 4}}};
  Factor heads{6, {axis(4)}};
  DimSharding dim{{Segment{{heads}}}};
  for (int64_t rank = 0; rank < 4; ++rank)
    EXPECT_EQ(onRank(heads.lowerBound(mesh), mesh, rank),
              owned(dim, mesh, rank).front());
  // 1, 2, 1, 2 heads.
  EXPECT_EQ(owned(dim, mesh, 1), (std::vector<int64_t>{1, 2}));
}

TEST(Sharding, SegmentsAreOwnedByThemselves) {
  Mesh mesh{{{"tp", 2}}};
  DimSharding dim{{Segment{{Factor{4, {axis(2)}}, Factor{2, {}}}},
                   Segment{{Factor{2, {axis(2)}}, Factor{2, {}}}}}};
  EXPECT_EQ(owned(dim, mesh, 1), (std::vector<int64_t>{4, 5, 6, 7, 10, 11}));
  EXPECT_EQ(dim.localSize(mesh), DimExpr(6));
}

TEST(Sharding, NormalFormKeepsOwnership) {
  Mesh mesh{{{"tp", 8}}};
  std::vector<DimSharding> dims = {
      {{Segment{{Factor{4, {axis(4)}}, Factor{2, {axis(2, 4)}}, Factor{1, {}},
                 Factor{3, {}}, Factor{5, {}}}}}},
      {{Segment{{Factor{8, {axis(4), axis(2, 4)}}}}, Segment{{Factor{3, {}}}},
        Segment{{Factor{4, {}}}}}},
      {{Segment{{Factor{2, {}}, Factor{6, {axis(8)}}}},
        Segment{{Factor{0, {}}}}}},
  };
  for (DimSharding dim : dims) {
    DimSharding normal = dim;
    normal.normalize();
    for (int64_t rank = 0; rank < 8; ++rank)
      EXPECT_EQ(owned(dim, mesh, rank), owned(normal, mesh, rank));
    DimSharding twice = normal;
    twice.normalize();
    EXPECT_EQ(normal, twice);
  }
}

TEST(Sharding, NormalFormMergesNeighbours) {
  DimSharding dim{
      {Segment{{Factor{2, {}}, Factor{3, {}}}}, Segment{{Factor{4, {}}}}}};
  dim.normalize();
  EXPECT_EQ(dim, DimSharding::unsplit(10));
  DimSharding split = DimSharding::whole(8, {axis(4), axis(2, 4)});
  EXPECT_EQ(split, DimSharding::whole(8, {axis(8)}));
}

TEST(Sharding, RangesAreCutByTheMajorFactor) {
  Mesh mesh{{{"tp", 4}}};
  DimSharding heads{{Segment{{Factor{6, {axis(4)}}, Factor{16, {}}}}}};
  ASSERT_TRUE(heads.isOneRange());
  for (int64_t rank = 0; rank < 4; ++rank)
    EXPECT_EQ(onRank(heads.lowerBound(mesh), mesh, rank), rank * 6 / 4 * 16);
  EXPECT_TRUE(DimSharding::unsplit(5).isOneRange());
  EXPECT_FALSE((DimSharding{{Segment{{Factor{2, {}}, Factor{8, {axis(4)}}}}}})
                   .isOneRange());
  EXPECT_FALSE((DimSharding{{Segment{{Factor{4, {axis(4)}}}},
                             Segment{{Factor{8, {axis(4)}}}}}})
                   .isOneRange());
}

TEST(Sharding, ZigZagPairsEarlyPartsWithLateOnes) {
  Mesh mesh{{{"cp", 2}, {"tp", 2}}};
  DimSharding dim = DimSharding::zigZag(
      8, {axis(2, 1, "cp"), axis(2)}); // 8 parts of one element
  EXPECT_EQ(shardc::testing::text(dim),
            "[4: (4:\"cp\"=2 + \"tp\"=2) | 4: (4:-\"cp\"=2 + \"tp\"=2)]");
  for (int64_t rank = 0; rank < 4; ++rank)
    EXPECT_EQ(owned(dim, mesh, rank), (std::vector<int64_t>{rank, 7 - rank}));
}

/// What the ranges say is what a rank owns, whole or not, evenly split or not.
TEST(Sharding, RangesAreWhatARankOwns) {
  Mesh mesh{{{"tp", 4}}};
  for (int64_t n : {0, 1, 2, 5, 8, 13, 30})
    for (const DimSharding &dim :
         {DimSharding::unsplit(n), DimSharding::whole(n, {axis(4)}),
          DimSharding::zigZag(n, {axis(4)})}) {
      ASSERT_TRUE(dim.isRangePerSegment());
      EXPECT_EQ(dim.size(), DimExpr(n));
      for (int64_t rank = 0; rank < 4; ++rank) {
        std::vector<int64_t> elements;
        for (const Range &range : dim.ranges(mesh))
          for (int64_t e = 0; e < onRank(range.size, mesh, rank); ++e)
            elements.push_back(onRank(range.start, mesh, rank) + e);
        EXPECT_EQ(elements, owned(dim, mesh, rank))
            << shardc::testing::text(dim);
        EXPECT_EQ(onRank(dim.localSize(mesh), mesh, rank),
                  int64_t(elements.size()));
      }
    }
  EXPECT_FALSE((DimSharding{{Segment{{Factor{2, {}}, Factor{8, {axis(4)}}}}}})
                   .isRangePerSegment());
  const DimExpr seq = DimExpr::symbol("seq");
  EXPECT_EQ(DimSharding::zigZag(seq, {axis(4)}).size(), seq);
}

/// Pairs of a query and a key that it sees, for a rank that has the keys of the
/// one `step` further on.
int64_t pairsSeen(const DimSharding &dim, const Mesh &mesh, int64_t rank,
                  int64_t step) {
  auto keys = dim.rangesAt([&](llvm::ArrayRef<AxisRef> axes) {
    return partAt(
        axes, DimExpr::mod(flatIndex(axes, mesh) + step, numWays(axes)), mesh);
  });
  int64_t pairs = 0;
  for (const Range &queries : dim.ranges(mesh))
    for (int64_t q = 0; q < onRank(queries.size, mesh, rank); ++q)
      for (const Range &range : keys)
        pairs += std::clamp<int64_t>(onRank(queries.start, mesh, rank) + q + 1 -
                                         onRank(range.start, mesh, rank),
                                     0, onRank(range.size, mesh, rank));
  return pairs;
}

/// In every step of a ring all ranks see as many pairs; with parts in order the
/// last rank would see seven times what the first one sees.
TEST(Sharding, ZigZagBalancesCausality) {
  Mesh mesh{{{"cp", 4}}};
  const int64_t n = 64;
  const DimSharding zigZag = DimSharding::zigZag(n, {axis(4, 1, "cp")}),
                    inOrder = DimSharding::whole(n, {axis(4, 1, "cp")});
  int64_t total = 0, first = 0, last = 0;
  for (int64_t step = 0; step < 4; ++step) {
    for (int64_t rank = 0; rank < 4; ++rank) {
      EXPECT_EQ(pairsSeen(zigZag, mesh, rank, step),
                pairsSeen(zigZag, mesh, 0, step))
          << "rank " << rank << ", step " << step;
      total += pairsSeen(zigZag, mesh, rank, step);
    }
    first += pairsSeen(inOrder, mesh, 0, step);
    last += pairsSeen(inOrder, mesh, 3, step);
  }
  EXPECT_EQ(total, n * (n + 1) / 2);
  EXPECT_GT(last, 6 * first);
}

TEST(Mesh, CutsWaysOfSeveralAxes) {
  const AxisRef ep = axis(2, 1, "ep");
  auto parts = cutWays({ep, axis(4)}, 4);
  ASSERT_TRUE(parts);
  EXPECT_TRUE(llvm::equal(parts->first, llvm::ArrayRef({ep, axis(2)})));
  EXPECT_TRUE(llvm::equal(parts->second, llvm::ArrayRef({axis(2, 2)})));
  parts = cutWays({ep, axis(4)}, 1);
  ASSERT_TRUE(parts);
  EXPECT_TRUE(parts->first.empty());
  EXPECT_TRUE(llvm::equal(parts->second, llvm::ArrayRef({ep, axis(4)})));
  EXPECT_FALSE(cutWays({ep, axis(4)}, 3));
  EXPECT_FALSE(cutWays({ep, axis(4)}, 16));
}

TEST(Mesh, SharedWaysAreThoseOfBoth) {
  EXPECT_EQ(axis(8).sharedWays(axis(2, 4)), 2);
  EXPECT_EQ(axis(4).sharedWays(axis(2, 4)), 1);
  EXPECT_EQ(axis(4).sharedWays(axis(8)), 4);
  EXPECT_EQ(axis(4).sharedWays(axis(4, 1, "ep")), 1);
}

TEST(Mesh, StagesAndReplicasSplitNoValue) {
  Mesh mesh{{{"dp", 2}, {"pp", 2}, {"cp", 2}, {"tp", 3}}};
  EXPECT_EQ(stageMesh(mesh), (Mesh{{{"cp", 2}, {"tp", 3}}}));
  EXPECT_EQ(mesh.coordinateAlong(6, "pp"), 1);
  EXPECT_EQ(mesh.coordinateAlong(6, "ep"), 0);
}

TEST(Sharding, PartialAxesAreSortedAndMerged) {
  Sharding sharding = Sharding::replicated({DimExpr(4)});
  sharding.partial = {{axis(2, 4), ReduceKind::Sum},
                      {axis(4), ReduceKind::Sum}};
  sharding.normalize();
  ASSERT_EQ(sharding.partial.size(), 1u);
  EXPECT_EQ(sharding.partial[0].axis, axis(8));
}

TEST(Sharding, FindsProblems) {
  Mesh mesh{{{"dp", 2}, {"tp", 4}}};
  auto problem = [&](DimSharding dim, DimExpr size) {
    Sharding sharding;
    sharding.dims = {std::move(dim)};
    return findProblem(sharding, {size}, mesh);
  };
  EXPECT_EQ(problem(DimSharding::whole(8, {axis(4)}), 8), "");
  EXPECT_NE(problem(DimSharding::whole(8, {axis(4)}), 9), "");
  EXPECT_NE(problem(DimSharding::whole(8, {axis(3)}), 8), "");
  EXPECT_NE(problem(DimSharding::whole(8, {axis(2, 1, "ep")}), 8), "");
  EXPECT_NE(
      problem({{Segment{{Factor{2, {axis(4)}}, Factor{4, {axis(2)}}}}}}, 8),
      "");
  Sharding twice;
  twice.dims = {DimSharding::whole(8, {axis(4)}),
                DimSharding::whole(8, {axis(2, 2)})};
  EXPECT_NE(findProblem(twice, {DimExpr(8), DimExpr(8)}, mesh), "");
}

} // namespace
