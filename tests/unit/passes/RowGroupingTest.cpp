#include "passes/lower/rows/Grouping.h"

#include <gtest/gtest.h>

namespace shardc::lower {
namespace {

using Groups = std::vector<llvm::SmallVector<unsigned, 4>>;

/// A call over rows of space 0; operands are whole buffers.
GroupItem row(std::initializer_list<unsigned> reads,
              std::initializer_list<unsigned> writes, int columns = 0) {
  GroupItem item;
  item.reads = reads;
  item.writes = writes;
  item.rows = 0;
  item.columns = columns;
  for (unsigned buffer : reads)
    item.inputs.push_back({buffer, buffer});
  for (unsigned buffer : writes)
    item.outputs.push_back({buffer, buffer});
  return item;
}

GroupItem other(std::initializer_list<unsigned> reads,
                std::initializer_list<unsigned> writes) {
  GroupItem item;
  item.reads = reads;
  item.writes = writes;
  return item;
}

TEST(RowGrouping, joinsAChainAroundALibraryCall) {
  // Swish, MatMul, Mul
  EXPECT_EQ(groupRows({row({0}, {1}), other({2}, {3}), row({1, 3}, {4})}),
            (Groups{{0, 2}}));
}

TEST(RowGrouping, keepsAProducerThatIsReadInBetween) {
  EXPECT_EQ(groupRows({row({0}, {1}), other({1}, {3}), row({1, 3}, {4})}),
            (Groups{{0}, {2}}));
}

TEST(RowGrouping, keepsAProducerWhoseInputIsWrittenInBetween) {
  EXPECT_EQ(groupRows({row({0}, {1}), other({2}, {0}), row({1}, {4})}),
            (Groups{{0}, {2}}));
}

TEST(RowGrouping, unitesTwoProducers) {
  EXPECT_EQ(groupRows({row({0}, {1}), row({2}, {3}), row({1, 3}, {4})}),
            (Groups{{0, 1, 2}}));
}

TEST(RowGrouping, sinksAsFarAsItsMembersCan) {
  // 1 could join 0, but 0 is read before 3 runs: 3 takes 1 and 0 stays.
  EXPECT_EQ(groupRows({row({0}, {1}), other({1}, {5}), row({5}, {6}),
                       row({6, 1}, {7})}),
            (Groups{{0}, {2, 3}}));
}

TEST(RowGrouping, stopsAtBarriers) {
  GroupItem barrier;
  barrier.isBarrier = true;
  EXPECT_EQ(groupRows({row({0}, {1}), barrier, row({1}, {2})}),
            (Groups{{0}, {2}}));
}

TEST(RowGrouping, joinsOneElementARowToAnyColumns) {
  EXPECT_EQ(groupRows({row({0}, {1}, 5), row({1}, {2}, GroupItem::kAnyColumns),
                       row({0, 2}, {3}, 5)}),
            (Groups{{0, 1, 2}}));
  EXPECT_EQ(groupRows({row({0}, {1}, 5), row({1}, {2}, 6)}),
            (Groups{{0}, {1}}));
}

TEST(RowGrouping, handsOnOnlyTheVerySameWindow) {
  GroupItem shifted = row({}, {2});
  shifted.reads = {1};
  shifted.inputs = {{1, 1}, {9, 1}}; // another window on buffer 1
  EXPECT_EQ(groupRows({row({0}, {1}), shifted}), (Groups{{0}, {1}}));
}

TEST(RowGrouping, doesNotOverwriteWhatAMemberReads) {
  EXPECT_EQ(groupRows({row({0}, {1}), row({1}, {0})}), (Groups{{0}, {1}}));
}

} // namespace
} // namespace shardc::lower
