//===- CollectivesTest.cpp - What collectives do to shardings -------------===//

#include "dialects/dist/algebra/Collectives.h"

#include <gtest/gtest.h>

using namespace shardc::dist;

namespace {

AxisRef tp(int64_t size, int64_t pre = 1) { return {"tp", pre, size}; }

Sharding of(llvm::ArrayRef<DimSharding> dims,
            llvm::ArrayRef<PartialAxis> partial = {}) {
  Sharding sharding;
  sharding.dims.assign(dims.begin(), dims.end());
  sharding.partial.assign(partial.begin(), partial.end());
  sharding.normalize();
  return sharding;
}

DimSharding heads(llvm::ArrayRef<AxisRef> axes) {
  return {{Segment{{Factor{8, {axes.begin(), axes.end()}}, Factor{16, {}}}}}};
}

TEST(Collectives, AllReduceNeedsThatPartial) {
  Sharding partial = of({DimSharding::unsplit(4)}, {{tp(8), ReduceKind::Sum}});
  EXPECT_EQ(allReduce(partial, {tp(8)}, ReduceKind::Sum),
            of({DimSharding::unsplit(4)}));
  EXPECT_FALSE(allReduce(partial, {tp(8)}, ReduceKind::Max));
  EXPECT_FALSE(
      allReduce(of({DimSharding::unsplit(4)}), {tp(8)}, ReduceKind::Sum));
  // Over the minor two ways only.
  EXPECT_EQ(allReduce(partial, {tp(2, 4)}, ReduceKind::Sum),
            of({DimSharding::unsplit(4)}, {{tp(4), ReduceKind::Sum}}));
}

TEST(Collectives, AllGatherTakesTheMinorAxes) {
  Sharding split = of({heads({tp(8)})});
  EXPECT_EQ(allGather(split, 0, {tp(8)}), of({heads({})}));
  EXPECT_EQ(allGather(split, 0, {tp(2, 4)}), of({heads({tp(4)})}));
  EXPECT_FALSE(allGather(split, 0, {tp(4)}));
  EXPECT_FALSE(allGather(split, 0, {tp(16)}));
  EXPECT_FALSE(allGather(split, 0, {tp(8), tp(8)}));
  EXPECT_FALSE(allGather(split, 0, {tp(8), tp(2, 4)}));
  EXPECT_FALSE(allGather(split, 1, {tp(8)}));
  EXPECT_FALSE(allGather(of({heads({})}), 0, {tp(8)}));
}

/// Once the minor part of an axis is gone, what is left may not be of the group.
TEST(Collectives, AllGatherLeavesNoAxisOfItsGroup) {
  const AxisRef cp{"cp", 1, 2}, minor{"cp", 2, 2}, whole{"cp", 1, 4};
  Sharding split = of({heads({cp, tp(8), minor})});
  EXPECT_EQ(allGather(split, 0, {tp(4, 2), minor}), of({heads({cp, tp(2)})}));
  EXPECT_FALSE(allGather(split, 0, {tp(4, 2), whole}));
  EXPECT_EQ(allGather(of({heads({tp(8)})}), 0, {tp(2, 4), tp(4)}),
            of({heads({})}));
}

TEST(Collectives, AllGatherTakesEverySegment) {
  DimSharding packed{{Segment{{Factor{6, {tp(4)}}, Factor{2, {}}}},
                      Segment{{Factor{2, {tp(4)}}, Factor{2, {}}}}}};
  EXPECT_EQ(allGather(of({packed}), 0, {tp(4)}),
            of({DimSharding::unsplit(16)}));
}

TEST(Collectives, SliceOnlyRefines) {
  Sharding whole = of({heads({}), DimSharding::unsplit(4)});
  Sharding split = of({heads({tp(2)}), DimSharding::unsplit(4)});
  EXPECT_TRUE(isSlice(whole, split));
  EXPECT_FALSE(isSlice(split, whole));
  EXPECT_FALSE(isSlice(split, split));
  Sharding other = of({heads({}), DimSharding::whole(4, {tp(2)})});
  EXPECT_FALSE(isSlice(split, other));
}

TEST(Collectives, AllToAllMovesAxes) {
  const DimSharding whole = DimSharding::unsplit(8),
                    split = DimSharding::whole(8, {tp(4)});
  EXPECT_TRUE(isAllToAll(of({split, whole}), of({whole, split}), 0, 1, tp(4)));
  EXPECT_FALSE(isAllToAll(of({split, whole}), of({whole, split}), 1, 0, tp(4)));
  EXPECT_FALSE(isAllToAll(of({split, whole}), of({whole, whole}), 0, 1, tp(4)));
  EXPECT_FALSE(isAllToAll(of({split, whole}), of({split, whole}), 0, 0, tp(4)));
  EXPECT_FALSE(isAllToAll(of({split, whole}), of({whole, split}), 0, 1, tp(2)));
  // To the minor ways of a factor that has others already.
  const AxisRef cp{"cp", 1, 2};
  EXPECT_TRUE(isAllToAll(of({DimSharding::whole(8, {cp}), split}),
                         of({whole, DimSharding::whole(8, {tp(4), cp})}), 0, 1,
                         cp));
  EXPECT_FALSE(isAllToAll(of({DimSharding::whole(8, {cp}), split}),
                          of({whole, DimSharding::whole(8, {cp, tp(4)})}), 0, 1,
                          cp));
  // To other parts of the same dim.
  EXPECT_TRUE(isAllToAll(of({split}), of({DimSharding::zigZag(8, {tp(4)})}), 0,
                         0, tp(4)));
}

TEST(Collectives, OnceMakesAReplicatedValuePartial) {
  Sharding whole = of({DimSharding::unsplit(4)});
  EXPECT_EQ(once(whole, {tp(2)}),
            of({DimSharding::unsplit(4)}, {{tp(2), ReduceKind::Sum}}));
  EXPECT_FALSE(once(of({DimSharding::whole(4, {tp(2)})}), {tp(2)}));
}

} // namespace
