//===- SharesTest.cpp - Unequal parts, by brute force ---------------------===//

#include "dialects/dist/algebra/Collectives.h"
#include "tests/unit/Shardings.h"

#include <random>

using namespace shardc::dist;
using shardc::testing::axis;
using shardc::testing::onRank;
using shardc::testing::owned;
using shardc::testing::testPart;
using shardc::testing::text;

namespace {

Mesh meshOf(llvm::ArrayRef<int64_t> shares) {
  return {{Axis{"tp", int64_t(shares.size()), reducedShares(shares)}}};
}

std::vector<int64_t> sizesOn(const DimSharding &dim, const Mesh &mesh) {
  std::vector<int64_t> sizes;
  for (int64_t rank = 0; rank < mesh.numRanks(); ++rank)
    sizes.push_back(onRank(dim.localSize(mesh), mesh, rank));
  return sizes;
}

TEST(Shares, AreReduced) {
  EXPECT_TRUE(llvm::equal(reducedShares({6, 2, 4}), std::vector{3, 1, 2}));
  EXPECT_TRUE(reducedShares({7, 7}).empty());
  EXPECT_TRUE(reducedShares({}).empty());
}

TEST(Shares, OfOneAxisAreItsNumbers) {
  auto sizes = [](int64_t n, llvm::ArrayRef<int64_t> shares) {
    return sizesOn(DimSharding::whole(n, {axis(int64_t(shares.size()))}),
                   meshOf(shares));
  };
  EXPECT_EQ(sizes(8, {3, 1}), (std::vector<int64_t>{6, 2}));
  EXPECT_EQ(sizes(16, {5, 2, 1}), (std::vector<int64_t>{10, 4, 2}));
  EXPECT_EQ(sizes(6, {3, 1}), (std::vector<int64_t>{4, 2}));
  EXPECT_EQ(sizes(1, {3, 1}), (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(sizes(0, {3, 1}), (std::vector<int64_t>{0, 0}));
  EXPECT_EQ(sizes(8, {1, 1}), (std::vector<int64_t>{4, 4}));
  EXPECT_EQ(sizes(1000, {1, 1, 1, 997}), (std::vector<int64_t>{1, 1, 1, 997}));
}

TEST(Shares, OfEqualWaysAreExpressionsOfTheWayAlone) {
  const Mesh mesh{{{"cp", 2}, {"tp", 4}}};
  const DimExpr n = DimExpr::symbol("n");
  const DimSharding dim = DimSharding::whole(n, {axis(2, 1, "cp"), axis(4)});
  const DimExpr way = flatIndex(dim.axes(), mesh);
  EXPECT_EQ(dim.localSize(mesh), DimExpr::floorDiv((way + 1) * n, 8) -
                                     DimExpr::floorDiv(way * n, 8));
  EXPECT_EQ(dim.lowerBound(mesh), DimExpr::floorDiv(way * n, 8));
  EXPECT_EQ(DimSharding::whole(n * 8, {axis(4)}).localSize(mesh), n * 2);
}

/// Random axes, of which some have shares.
class RandomMesh {
public:
  explicit RandomMesh(unsigned seed) : random(seed) {
    for (const char *name : {"cp", "tp"}) {
      Axis &made = mesh.axes.emplace_back();
      made.name = name;
      made.size = std::array<int64_t, 5>{2, 3, 4, 6, 8}[below(5)];
      if (below(4) == 0)
        continue;
      for (int64_t way = 0; way < made.size; ++way)
        made.shares.push_back(1 + below(9));
      made.shares = reducedShares(made.shares);
    }
  }

  int64_t below(int64_t end) { return int64_t(random() % end); }

  /// Different ones, whole or in two parts.
  llvm::SmallVector<AxisRef, 1> axes() {
    llvm::SmallVector<AxisRef, 4> all;
    for (const Axis &each : mesh.axes) {
      int64_t major = each.size;
      if (below(2))
        while (each.size % major != 0 || major == each.size)
          major = 1 + below(each.size);
      all.push_back({each.name, 1, major});
      all.push_back({each.name, major, each.size / major});
    }
    std::shuffle(all.begin(), all.end(), random);
    all.resize(1 + below(all.size()));
    return mergeSubAxes(all);
  }

  Mesh mesh;

private:
  std::mt19937 random;
};

/// Segments of a random dim, not all split, some reversed.
DimSharding randomDim(RandomMesh &random) {
  DimSharding dim;
  for (int64_t s = 0; s < 1 + random.below(2); ++s) {
    Segment &segment = dim.segments.emplace_back();
    segment.factors.push_back(
        Factor{random.below(20), random.axes(), random.below(2) == 1});
    if (random.below(2))
      segment.factors.push_back(Factor{1 + random.below(3), {}});
  }
  dim.normalize();
  return dim;
}

/// Expressions over coordinates say what the definition says.
TEST(Shares, ExpressionsAreWhatARankOwns) {
  for (unsigned seed = 0; seed < 400; ++seed) {
    RandomMesh random(seed);
    const DimSharding dim = randomDim(random);
    const Mesh &mesh = random.mesh;
    for (int64_t rank = 0; rank < mesh.numRanks(); ++rank) {
      const std::vector<int64_t> elements = owned(dim, mesh, rank);
      std::vector<int64_t> ranged;
      for (const Range &range : dim.ranges(mesh))
        for (int64_t e = 0; e < onRank(range.size, mesh, rank); ++e)
          ranged.push_back(onRank(range.start, mesh, rank) + e);
      EXPECT_EQ(ranged, elements) << text(dim) << " on rank " << rank;
      EXPECT_EQ(onRank(dim.localSize(mesh), mesh, rank),
                int64_t(elements.size()))
          << text(dim) << " on rank " << rank;
    }
  }
}

/// By flat way the parts follow each other, from the first element to the last.
TEST(Shares, WaysOwnEachElementOnceInOrder) {
  for (unsigned seed = 0; seed < 400; ++seed) {
    RandomMesh random(seed);
    const auto axes = random.axes();
    const Mesh &mesh = random.mesh;
    const int64_t ways = numWays(axes), n = random.below(40);
    const llvm::SmallVector<int64_t> bounds = boundsOf(axes, mesh);
    ASSERT_EQ(int64_t(bounds.size()), ways + 1);
    EXPECT_EQ(bounds.front(), 0);
    EXPECT_EQ(bounds.back(), totalShares(axes, mesh));
    for (bool isReversed : {false, true}) {
      DimSharding dim{{Segment{{Factor{n, axes, isReversed}}}}};
      std::vector<std::vector<int64_t>> ofWay(ways);
      std::vector<bool> seen(ways);
      for (int64_t rank = 0; rank < mesh.numRanks(); ++rank) {
        const int64_t way = onRank(flatIndex(axes, mesh), mesh, rank);
        const auto elements = owned(dim, mesh, rank);
        EXPECT_TRUE(!seen[way] || ofWay[way] == elements);
        ofWay[way] = elements;
        seen[way] = true;
        const auto part = testPart(axes, mesh, rank);
        EXPECT_EQ(part.begin * bounds.back(), bounds[way] * part.total);
        EXPECT_EQ(part.end * bounds.back(), bounds[way + 1] * part.total);
      }
      if (isReversed)
        std::reverse(ofWay.begin(), ofWay.end());
      int64_t next = 0;
      for (const auto &elements : ofWay)
        for (int64_t element : elements)
          EXPECT_EQ(element, next++);
      EXPECT_EQ(next, n);
    }
  }
}

/// Coordinates of a rank, with those digits 0 that are the axes.
std::vector<int64_t> without(llvm::ArrayRef<AxisRef> axes, const Mesh &mesh,
                             int64_t rank) {
  std::vector<int64_t> coordinates;
  for (size_t a = 0; a < mesh.axes.size(); ++a) {
    int64_t &left = coordinates.emplace_back(mesh.coordinate(rank, a));
    for (const AxisRef &ref : axes)
      if (ref.name == mesh.axes[a].name) {
        const int64_t stride = mesh.axes[a].size / (ref.pre * ref.size);
        left -= left / stride % ref.size * stride;
      }
  }
  return coordinates;
}

/// What the ranks of a group own together is what each owns when they gather.
TEST(Shares, GatheringMinorAxesGivesTheMajorOnes) {
  int gathers = 0;
  for (unsigned seed = 0; seed < 800; ++seed) {
    RandomMesh random(seed);
    Sharding split;
    split.dims = {randomDim(random)};
    const Mesh &mesh = random.mesh;
    const auto axes = random.axes();
    const std::optional<Sharding> whole = allGather(split, 0, axes);
    if (!whole || !findProblem(split, {split.dims[0].size()}, mesh).empty())
      continue;
    ++gathers;
    for (int64_t rank = 0; rank < mesh.numRanks(); ++rank) {
      std::vector<int64_t> together;
      for (int64_t other = 0; other < mesh.numRanks(); ++other) {
        if (without(axes, mesh, rank) == without(axes, mesh, other))
          for (int64_t element : owned(split.dims[0], mesh, other))
            together.push_back(element);
      }
      llvm::sort(together);
      together.erase(llvm::unique(together), together.end());
      EXPECT_EQ(together, owned(whole->dims[0], mesh, rank))
          << split.str() << " to " << whole->str() << " over "
          << text(DimSharding::whole(7, axes)) << " on rank " << rank;
    }
  }
  EXPECT_GT(gathers, 100);
}

/// The part that another rank has, by its way: that of a ring's next step.
TEST(Shares, PartsOfOtherWaysAreThoseOfTheirRanks) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    RandomMesh random(seed);
    const auto axes = random.axes();
    const Mesh &mesh = random.mesh;
    const int64_t ways = numWays(axes), step = random.below(ways);
    const DimExpr way = DimExpr::mod(flatIndex(axes, mesh) + step, ways);
    const Part part = partAt(axes, way, mesh);
    const llvm::SmallVector<int64_t> bounds = boundsOf(axes, mesh);
    for (int64_t rank = 0; rank < mesh.numRanks(); ++rank) {
      const int64_t other = onRank(way, mesh, rank);
      EXPECT_EQ(onRank(part.begin, mesh, rank), bounds[other]);
      EXPECT_EQ(onRank(part.end, mesh, rank), bounds[other + 1]);
      EXPECT_EQ(part.total, bounds.back());
    }
  }
}

TEST(Shares, SubAxesHaveTheSumsOfTheirWays) {
  const Mesh mesh = meshOf({5, 1, 1, 1});
  EXPECT_EQ(sizesOn(DimSharding::whole(8, {axis(2)}), mesh),
            (std::vector<int64_t>{6, 6, 2, 2}));
  EXPECT_EQ(sizesOn(DimSharding::whole(8, {axis(2, 2)}), mesh),
            (std::vector<int64_t>{4, 4, 4, 4}));
  EXPECT_EQ(sizesOn(DimSharding::whole(8, {axis(2), axis(2, 2)}), mesh),
            (std::vector<int64_t>{5, 1, 1, 1}));
  EXPECT_EQ(totalShares({axis(2), axis(2, 2)}, mesh), 8);
  EXPECT_EQ(totalShares({axis(2)}, mesh), 4);
  EXPECT_FALSE(hasShares({axis(2, 2)}, mesh));
}

TEST(Shares, FitTheirAxis) {
  const Axis tp{"tp", 2}, dp{"dp", 2};
  EXPECT_EQ(problemOfShares({3, 1}, tp), "");
  EXPECT_EQ(problemOfShares({3, 1, 1}, tp), "tp has 2 ways; name 2 numbers");
  EXPECT_EQ(problemOfShares({3, 0}, tp),
            "tp has 2 ways; expected for each a number from 1 to 1000");
  EXPECT_NE(problemOfShares({3, 1001}, tp), "");
  EXPECT_NE(problemOfShares({3, 1}, dp), "");
}

} // namespace
