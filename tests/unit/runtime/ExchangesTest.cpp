//===- ExchangesTest.cpp - What ranks give to each other ------------------===//
#include "tests/unit/runtime/CollectiveRanks.h"

namespace shardc::runtime {
namespace {

/// Each token goes to two experts; `spread` 0 sends all of them to expert 0.
/// Members of a group have equal parts of the experts, or the last one has all.
void routes(int ranks, int64_t size, int64_t experts, int64_t spread,
            bool isEqual) {
  std::vector<int64_t> bounds;
  for (int64_t member = 0; member < ranks; ++member)
    bounds.push_back(isEqual ? wayBegin(experts, ranks, member) : 0);
  bounds.push_back(experts);
  constexpr int64_t kWidth = 3;
  const std::vector<OwnedRuns> blocks = blocksOf(size, ranks, true);
  const int64_t tokens = blocks[0].globalSize;
  std::vector<int64_t> choices(static_cast<size_t>(2 * tokens));
  for (size_t i = 0; i < choices.size(); ++i)
    choices[i] = static_cast<int64_t>(i * 7 + i / 3) * spread % experts -
                 (i % 5 == 0 ? experts : 0); // counted from the last one
  const int64_t choiceDims[] = {tokens, 2};
  onRanks(ranks, [&](Communicator &communicator) {
    const OwnedRuns &mine = blocks[static_cast<size_t>(communicator.index())];
    const ExpertRouting routing{
        packedView(choices.data(), ElementType_Int64, choiceDims), bounds};
    std::vector<float> own, all(static_cast<size_t>(tokens * kWidth), -1),
        back(static_cast<size_t>(mine.localSize * kWidth));
    for (const OwnedRun &run : mine.runs)
      for (int64_t i = run.start * kWidth;
           i < (run.start + run.length) * kWidth; ++i)
        own.push_back(static_cast<float>(i));
    const int64_t local[] = {mine.localSize, kWidth},
                  global[] = {tokens, kWidth};
    const TensorView whole =
        packedView(all.data(), ElementType_Float32, global);
    ASSERT_TRUE(
        communicator
            .dispatch(packedView(own.data(), ElementType_Float32, local), whole,
                      blocks, routing, {"dispatch", "node", 0})
            .isOk());
    for (int64_t row = 0; row < tokens; ++row)
      for (int64_t i = 0; i < kWidth; ++i) {
        float &x = all[static_cast<size_t>(row * kWidth + i)];
        const bool taken = routing.takes(communicator.index(), row);
        EXPECT_EQ(x, taken ? static_cast<float>(row * kWidth + i) : -1.0f);
        if (!taken)
          x = 0;
      }
    ASSERT_TRUE(
        communicator
            .combine(whole, packedView(back.data(), ElementType_Float32, local),
                     blocks, routing, {"combine", "node", 1})
            .isOk());
    size_t at = 0;
    for (const OwnedRun &run : mine.runs)
      for (int64_t row = run.start; row < run.start + run.length; ++row) {
        int takers = 0;
        for (int rank = 0; rank < ranks; ++rank)
          takers += routing.takes(rank, row);
        for (int64_t i = 0; i < kWidth; ++i, ++at)
          EXPECT_EQ(back[at], own[at] * static_cast<float>(takers));
      }
  });
}

TEST(Dispatch, sendsRowsToTheirExpertsAndBack) {
  for (int ranks : {1, 2, 3, 8})
    for (int64_t size : {0, 1, 9, 100})
      for (int64_t experts : {1, 4, 10})
        for (int64_t spread : {0, 1})
          for (bool isEqual : {true, false})
            routes(ranks, size, experts, spread, isEqual);
}

/// Rank's part of a [rows, columns] matrix whose elements are their numbers.
std::vector<float> partOf(const OwnedRuns &rows, const OwnedRuns &columns) {
  std::vector<float> part;
  for (const OwnedRun &r : rows.runs)
    for (int64_t i = r.start; i < r.start + r.length; ++i)
      for (const OwnedRun &c : columns.runs)
        for (int64_t j = c.start; j < c.start + c.length; ++j)
          part.push_back(static_cast<float>(i * columns.globalSize + j));
  return part;
}

/// From rows to columns, split as `from` and `to` say.
void swaps(int ranks, std::vector<OwnedRuns> from, std::vector<OwnedRuns> to) {
  const OwnedRuns rows = OwnedRuns::whole(from[0].globalSize),
                  columns = OwnedRuns::whole(to[0].globalSize);
  onRanks(ranks, [&](Communicator &communicator) {
    const auto self = static_cast<size_t>(communicator.index());
    std::vector<float> in = partOf(from[self], columns),
                       expected = partOf(rows, to[self]), out(expected.size());
    int64_t inDims[] = {from[self].localSize, columns.globalSize};
    int64_t outDims[] = {rows.globalSize, to[self].localSize};
    Status status = communicator.allToAll(
        packedView(in.data(), ElementType_Float32, inDims),
        packedView(out.data(), ElementType_Float32, outDims), {0, from},
        {1, to}, {"all_to_all", "node", 0});
    ASSERT_TRUE(status.isOk()) << status.message();
    EXPECT_EQ(out, expected);
  });
}

TEST(AllToAll, swapsUnevenAndEmptyBlocks) {
  for (int ranks : {1, 2, 3, 8})
    for (int64_t rows : {0, 1, 5, 16})
      for (int64_t columns : {0, 3, 8})
        for (bool interleaved : {false, true}) {
          swaps(ranks, blocksOf(rows, ranks, interleaved),
                blocksOf(columns, ranks, !interleaved));
          swaps(ranks, blocksOf(rows, ranks, interleaved),
                blocksOf(columns, ranks, interleaved));
        }
}

TEST(AllToAll, swapsLargeBlocks) {
  swaps(3, blocksOf(500, 3, true), blocksOf(100, 3, false));
}

/// Much more than a message; some give much and get nothing, or have nothing in
/// common.
TEST(AllToAll, takesManyMessages) {
  swaps(2, blocksOf(1500, 2, true), blocksOf(1400, 2, false));
  swaps(3, blocksOf(3, 3, false), blocksOf(500'000, 3, false));
  const auto whole = [](int owner, int64_t size) {
    std::vector<OwnedRuns> blocks(3, OwnedRuns{size, 0, {}});
    blocks[static_cast<size_t>(owner)] = OwnedRuns::whole(size);
    return blocks;
  };
  swaps(3, whole(0, 900), blocksOf(800, 3, false));
  swaps(3, blocksOf(900, 3, false), whole(2, 800));
  swaps(3, whole(1, 900), whole(2, 800));
}

/// Of 2 k parts of a dim, rank i has number i and number 2 k - 1 - i.
std::vector<OwnedRuns> zigZag(int64_t size, int ranks) {
  std::vector<OwnedRuns> blocks;
  for (int rank = 0; rank < ranks; ++rank) {
    OwnedRuns block{size, 0, {}};
    for (int part : {rank, 2 * ranks - 1 - rank}) {
      const int64_t begin = wayBegin(size, 2 * ranks, part);
      const int64_t length = wayBegin(size, 2 * ranks, part + 1) - begin;
      if (length > 0)
        block.runs.push_back({begin, length});
      block.localSize += length;
    }
    blocks.push_back(block);
  }
  return blocks;
}

TEST(AllToAll, dealsOutOneDimInAnotherWay) {
  for (int ranks : {1, 2, 3, 8})
    for (int64_t size : {0, 1, 5, 16, 50000})
      for (bool back : {false, true})
        onRanks(ranks, [&](Communicator &communicator) {
          std::vector<OwnedRuns> from = blocksOf(size, ranks, false),
                                 to = zigZag(size, ranks);
          if (back)
            std::swap(from, to);
          const auto self = static_cast<size_t>(communicator.index());
          const OwnedRuns one = OwnedRuns::whole(1);
          std::vector<float> in = partOf(from[self], one),
                             expected = partOf(to[self], one),
                             out(expected.size());
          int64_t inDims[] = {from[self].localSize};
          int64_t outDims[] = {to[self].localSize};
          Status status = communicator.allToAll(
              packedView(in.data(), ElementType_Float32, inDims),
              packedView(out.data(), ElementType_Float32, outDims), {0, from},
              {0, to}, {"all_to_all", "node", 0});
          ASSERT_TRUE(status.isOk()) << status.message();
          EXPECT_EQ(out, expected);
        });
}

TEST(Shift, givesTheInputOfARankFurtherOn) {
  for (int ranks : {1, 2, 5})
    for (int distance = 0; distance < ranks; ++distance)
      onRanks(ranks, [&](Communicator &communicator) {
        const int source = (communicator.index() + distance) % ranks;
        auto valuesOf = [](int rank) { // rank 2 has none
          return std::vector<float>(rank == 2 ? 0 : 1000 * rank + 1,
                                    static_cast<float>(rank));
        };
        std::vector<float> in = valuesOf(communicator.index()),
                           expected = valuesOf(source), out(expected.size());
        int64_t inDims[] = {int64_t(in.size())};
        int64_t outDims[] = {int64_t(out.size())};
        Status status = communicator.shift(
            packedView(in.data(), ElementType_Float32, inDims),
            packedView(out.data(), ElementType_Float32, outDims), distance,
            {"shift", "node", 0});
        ASSERT_TRUE(status.isOk()) << status.message();
        EXPECT_EQ(out, expected);
      });
}

} // namespace
} // namespace shardc::runtime
