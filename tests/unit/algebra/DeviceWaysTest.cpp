#include "dialects/dist/algebra/DeviceWays.h"

#include <gtest/gtest.h>

#include <map>

using namespace shardc::dist;
using Ways = std::vector<int64_t>;
using Axes = llvm::SmallVector<AxisRef, 1>;

static const Mesh kSquare{{{"cp", 2}, {"tp", 2}}};

TEST(DeviceWays, axesAreFoundInTheirOrder) {
  EXPECT_EQ(axesOfWays(Ways{0, 0, 1, 1}, 2, kSquare), Axes({{"cp", 1, 2}}));
  EXPECT_EQ(axesOfWays(Ways{0, 1, 0, 1}, 2, kSquare), Axes({{"tp", 1, 2}}));
  EXPECT_EQ(axesOfWays(Ways{0, 2, 1, 3}, 4, kSquare),
            Axes({{"tp", 1, 2}, {"cp", 1, 2}}));
  EXPECT_EQ(axesOfWays(Ways{0, 0, 0, 0}, 1, kSquare), Axes());
}

TEST(DeviceWays, whatNoAxesDealOutIsNothing) {
  EXPECT_EQ(axesOfWays(Ways{0, 1, 1, 0}, 2, kSquare), std::nullopt);
  EXPECT_EQ(axesOfWays(Ways{1, 0, 1, 0}, 2, kSquare), std::nullopt);
  EXPECT_EQ(axesOfWays(Ways{0, 1, 2, 0}, 3, kSquare), std::nullopt);
}

TEST(DeviceWays, subAxesAreFound) {
  const Mesh mesh{{{"tp", 12}}};
  for (int64_t pre : {1, 2, 3, 4, 6})
    for (int64_t size : {2, 3, 4, 6}) {
      if (12 % (pre * size) != 0)
        continue;
      const Axes axes{{"tp", pre, size}};
      Ways ways;
      for (int64_t rank = 0; rank < 12; ++rank)
        ways.push_back(wayOf(rank, axes, mesh));
      EXPECT_EQ(axesOfWays(ways, size, mesh), axes);
    }
}

/// Every list of two sub-axes of a mesh is found again, or one that deals out
/// the same.
TEST(DeviceWays, foundAxesDealOutTheSame) {
  const Mesh mesh{{{"a", 4}, {"b", 6}}};
  std::vector<AxisRef> all;
  for (const Axis &axis : mesh.axes)
    for (int64_t pre = 1; pre <= axis.size; ++pre)
      for (int64_t size = 2; pre * size <= axis.size; ++size)
        if (axis.size % (pre * size) == 0)
          all.push_back({axis.name, pre, size});
  for (const AxisRef &major : all)
    for (const AxisRef &minor : all) {
      if (major.overlaps(minor))
        continue;
      Ways ways;
      for (int64_t rank = 0; rank < mesh.numRanks(); ++rank)
        ways.push_back(wayOf(rank, {major, minor}, mesh));
      auto found = axesOfWays(ways, major.size * minor.size, mesh);
      ASSERT_TRUE(found);
      for (int64_t rank = 0; rank < mesh.numRanks(); ++rank)
        EXPECT_EQ(wayOf(rank, *found, mesh), ways[rank]);
    }
}

/// By counting: of parts that do not overlap, each pair of ways is one of equally
/// many ranks. Those that overlap share ways, or none of them is cut from what the
/// other leaves, as t % 2 and t % 3 of 6.
TEST(DeviceWays, partsThatDoNotOverlapAreIndependent) {
  for (int64_t n = 1; n <= 24; ++n) {
    const Mesh mesh{{{"tp", n}}};
    std::vector<AxisRef> parts;
    for (int64_t pre = 1; pre <= n; ++pre)
      for (int64_t size = 2; pre * size <= n; ++size)
        if (n % (pre * size) == 0)
          parts.push_back({"tp", pre, size});
    for (const AxisRef &one : parts)
      for (const AxisRef &other : parts) {
        std::map<std::pair<int64_t, int64_t>, int64_t> count;
        for (int64_t rank = 0; rank < n; ++rank)
          ++count[{wayOf(rank, one, mesh), wayOf(rank, other, mesh)}];
        bool areIndependent = int64_t(count.size()) == one.size * other.size;
        for (const auto &[ways, ranks] : count)
          areIndependent &= ranks * one.size * other.size == n;
        const bool isCutFromRest = other.pre % (one.pre * one.size) == 0 ||
                                   one.pre % (other.pre * other.size) == 0;
        EXPECT_EQ(one.overlaps(other), !areIndependent || !isCutFromRest)
            << n << ": (" << one.pre << ")" << one.size << ", (" << other.pre
            << ")" << other.size;
      }
  }
}
