//===- CollectiveTest.cpp - Collectives between devices -------------------===//
//
// Values are small integers, so that sums are exact in any order.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/CopyBlock.h"
#include "tests/conformance/backend/CollectiveFixture.h"

namespace shardc::test {
namespace {

using namespace runtime;

/// Blocks of a dim of `size`, some of them empty.
std::vector<OwnedRuns> blocksOf(int64_t size, int ranks) {
  std::vector<OwnedRuns> blocks;
  for (int i = 0; i < ranks; ++i) {
    const int64_t begin = wayBegin(size, ranks, i),
                  end = wayBegin(size, ranks, i + 1);
    OwnedRuns block{size, end - begin, {}};
    if (end > begin)
      block.runs.push_back({begin, end - begin});
    blocks.push_back(block);
  }
  return blocks;
}

TEST_P(CollectiveTest, allReduceSums) {
  for (int ranks : {1, 2, 3})
    for (int64_t n : {0, 1, 7, 1000, 40'000})
      onRanks(ranks, [&](const Rank &rank) {
        OnDevice in(rank, kFloat, {n},
                    counted(n, static_cast<float>(rank.index())));
        OnDevice out(rank, kFloat, {n},
                     std::vector<float>(static_cast<size_t>(n), -1));
        ASSERT_OK(rank.communicator->allReduce(
            in.view, out.view, ReduceKind::Sum, {"all_reduce", "node", 0}));
        std::vector<float> expected(static_cast<size_t>(n));
        for (size_t i = 0; i < expected.size(); ++i)
          expected[i] = static_cast<float>(ranks) * static_cast<float>(i) +
                        static_cast<float>(ranks * (ranks - 1) / 2);
        EXPECT_EQ(out.read<float>(rank), expected);
      });
}

TEST_P(CollectiveTest, allReduceInPlaceMaxAndMin) {
  onRanks(2, [&](const Rank &rank) {
    const auto self = static_cast<float>(rank.index());
    for (ReduceKind kind : {ReduceKind::Max, ReduceKind::Min}) {
      OnDevice value(rank, kFloat, {2}, std::vector<float>{self, -self});
      ASSERT_OK(rank.communicator->allReduce(value.view, value.view, kind,
                                             {"all_reduce", "node", 0}));
      EXPECT_EQ(value.read<float>(rank), kind == ReduceKind::Max
                                             ? (std::vector<float>{1, 0})
                                             : (std::vector<float>{0, -1}));
    }
  });
}

TEST_P(CollectiveTest, allReduceOfStridedViewsLeavesWhatIsBetween) {
  onRanks(2, [&](const Rank &rank) {
    OnDevice in(rank, kFloat, {6}, counted(6, 1));
    OnDevice out(rank, kFloat, {6}, std::vector<float>(6, -1));
    for (OnDevice *value : {&in, &out}) {
      value->view.dims[0] = 3;
      value->view.strides[0] = 2;
    }
    ASSERT_OK(rank.communicator->allReduce(in.view, out.view, ReduceKind::Sum,
                                           {"all_reduce", "node", 0}));
    EXPECT_EQ(out.read<float>(rank),
              (std::vector<float>{2, -1, 6, -1, 10, -1}));
  });
}

TEST_P(CollectiveTest, allReduceOfIntegersAndHalves) {
  onRanks(2, [&](const Rank &rank) {
    const int64_t large = int64_t{1} << 40;
    OnDevice integers(rank, artifact::ElementType_Int64, {2},
                      std::vector<int64_t>{large, rank.index()});
    ASSERT_OK(rank.communicator->allReduce(integers.view, integers.view,
                                           ReduceKind::Sum,
                                           {"all_reduce", "node", 0}));
    EXPECT_EQ(integers.read<int64_t>(rank),
              (std::vector<int64_t>{2 * large, 1}));
    // 1.5 + 1.5 in both formats.
    for (auto [element, one, two] :
         {std::tuple{artifact::ElementType_Float16, 0x3e00, 0x4200},
          std::tuple{artifact::ElementType_BFloat16, 0x3fc0, 0x4040}}) {
      OnDevice half(rank, element, {1},
                    std::vector<uint16_t>{static_cast<uint16_t>(one)});
      ASSERT_OK(rank.communicator->allReduce(
          half.view, half.view, ReduceKind::Sum, {"all_reduce", "node", 0}));
      EXPECT_EQ(half.read<uint16_t>(rank)[0], two);
    }
  });
}

TEST_P(CollectiveTest, allGatherAndReduceScatterOfUnevenBlocks) {
  for (int ranks : {1, 2, 3})
    for (int64_t size : {0, 1, 5, 16})
      onRanks(ranks, [&](const Rank &rank) {
        // [2, size, 3], dim 1 split.
        const std::vector<OwnedRuns> blocks = blocksOf(size, ranks);
        const OwnedRuns &mine = blocks[static_cast<size_t>(rank.index())];
        const std::vector<float> whole = counted(2 * size * 3);
        const int64_t dims[] = {2, size, 3};
        std::vector<float> part(static_cast<size_t>(2 * mine.localSize * 3));
        const int64_t local[] = {2, mine.localSize, 3};
        const OwnedRuns all[] = {OwnedRuns::whole(2), mine,
                                 OwnedRuns::whole(3)};
        copyBlock(all, packedView(whole.data(), kFloat, dims),
                  packedView(part.data(), kFloat, local), BlockCopy::ToLocal);
        OnDevice in(rank, kFloat, {2, mine.localSize, 3}, part);
        OnDevice out(rank, kFloat, {2, size, 3},
                     std::vector<float>(whole.size(), -1));
        ASSERT_OK(rank.communicator->allGather(in.view, out.view, 1, blocks,
                                               {"all_gather", "node", 0}));
        EXPECT_EQ(out.read<float>(rank), whole);
        ASSERT_OK(rank.communicator->reduceScatter(
            out.view, in.view, 1, blocks, ReduceKind::Sum,
            {"reduce_scatter", "node", 1}));
        for (float &value : part)
          value *= static_cast<float>(ranks);
        EXPECT_EQ(in.read<float>(rank), part);
      });
}

TEST_P(CollectiveTest, allToAllTurnsRowsIntoColumns) {
  for (int ranks : {2, 3})
    onRanks(ranks, [&](const Rank &rank) {
      const int64_t rows = 5, columns = 4;
      const std::vector<OwnedRuns> byRow = blocksOf(rows, ranks),
                                   byColumn = blocksOf(columns, ranks);
      const auto self = static_cast<size_t>(rank.index());
      std::vector<float> in, expected;
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < columns; ++c) {
          const auto value = static_cast<float>(10 * r + c);
          if (r >= wayBegin(rows, ranks, rank.index()) &&
              r < wayBegin(rows, ranks, rank.index() + 1))
            in.push_back(value);
          if (c >= wayBegin(columns, ranks, rank.index()) &&
              c < wayBegin(columns, ranks, rank.index() + 1))
            expected.push_back(value);
        }
      OnDevice from(rank, kFloat, {byRow[self].localSize, columns}, in);
      OnDevice to(rank, kFloat, {rows, byColumn[self].localSize},
                  std::vector<float>(expected.size(), -1));
      ASSERT_OK(rank.communicator->allToAll(from.view, to.view, {0, byRow},
                                            {1, byColumn},
                                            {"all_to_all", "node", 0}));
      EXPECT_EQ(to.read<float>(rank), expected);
    });
}

TEST_P(CollectiveTest, shiftGoesAround) {
  onRanks(3, [&](const Rank &rank) {
    for (int distance : {0, 1, 2}) {
      // Rank i has i + 1 elements.
      const int source = (rank.index() + distance) % 3;
      OnDevice in(
          rank, kFloat, {rank.index() + 1},
          counted(rank.index() + 1, static_cast<float>(100 * rank.index())));
      OnDevice out(rank, kFloat, {source + 1},
                   std::vector<float>(static_cast<size_t>(source) + 1, -1));
      ASSERT_OK(rank.communicator->shift(in.view, out.view, distance,
                                         {"shift", "node", 0}));
      EXPECT_EQ(out.read<float>(rank),
                counted(source + 1, static_cast<float>(100 * source)));
    }
  });
}

TEST_P(CollectiveTest, tokensGoToTheirExpertsAndBack) {
  onRanks(2, [&](const Rank &rank) {
    // Four experts on two ranks; token t of 4 chose {t} and, if even, {3}.
    const std::vector<OwnedRuns> blocks = blocksOf(4, 2);
    OnDevice choices(rank, artifact::ElementType_Int64, {4, 2},
                     std::vector<int64_t>{0, 3, 1, 1, 2, 3, 3, 3});
    const int64_t bounds[] = {0, 2, 4};
    const ExpertRouting routing{choices.view, bounds};
    const bool takes[2][4] = {{true, true, false, false},
                              {true, false, true, true}};
    OnDevice mine(rank, kFloat, {2, 2},
                  counted(4, static_cast<float>(4 * rank.index())));
    OnDevice all(rank, kFloat, {4, 2}, std::vector<float>(8, 0));
    ASSERT_OK(rank.communicator->dispatch(mine.view, all.view, blocks, routing,
                                          {"dispatch", "node", 0}));
    std::vector<float> found = all.read<float>(rank);
    for (size_t token = 0; token < 4; ++token)
      for (size_t i = 2 * token; i < 2 * token + 2; ++i) {
        if (!takes[rank.index()][token])
          found[i] = 0; // as experts leave it
        EXPECT_EQ(found[i],
                  takes[rank.index()][token] ? static_cast<float>(i) : 0.0f);
      }
    OnDevice computed(rank, kFloat, {4, 2}, found);
    ASSERT_OK(rank.communicator->combine(computed.view, mine.view, blocks,
                                         routing, {"combine", "node", 1}));
    // Token 0 was with both.
    EXPECT_EQ(mine.read<float>(rank), rank.index() == 0
                                          ? (std::vector<float>{0, 2, 2, 3})
                                          : (std::vector<float>{4, 5, 6, 7}));
  });
}

TEST_P(CollectiveTest, exchangeTellsWhatTheHostHas) {
  onRanks(3, [&](const Rank &rank) {
    const int mine = 10 * rank.index();
    int all[3] = {};
    ASSERT_OK(rank.communicator->exchange(&mine, sizeof mine, all,
                                          {"exchange", "node", 0}));
    EXPECT_EQ(std::vector<int>(all, all + 3), (std::vector<int>{0, 10, 20}));
  });
}

TEST_P(CollectiveTest, aRankThatDoesNotComeIsNotWaitedForForEver) {
  onLoneRank([&](const Rank &rank) {
    {
      OnDevice value(rank, kFloat, {1}, std::vector<float>{1});
      float out = 0;
      Status status = reduceAlone(rank, value);
      if (status.isOk())
        status = rank.stream->copy(reinterpret_cast<std::byte *>(&out),
                                   value.memory.data(), {4},
                                   CopyDirection::DeviceToHost);
      if (status.isOk())
        status = rank.stream->synchronize();
      for (const char *part : {"all_reduce at node 'lonely'", "rank 1"})
        EXPECT_NE(status.message().find(part), std::string::npos)
            << status.message();
      EXPECT_FALSE(reduceAlone(rank, value).isOk());
    }
    // Nothing uses that memory any more, and the stream is as good as new.
    OnDevice fresh(rank, kFloat, {1}, std::vector<float>{5});
    EXPECT_EQ(fresh.read<float>(rank), std::vector<float>{5});
  });
}

/// Not even by what ends it: that waits for the graph, which goes later.
TEST_P(CollectiveTest, aGraphDoesNotWaitForEver) {
  std::promise<void> over;
  std::shared_future<void> isOver = over.get_future().share();
  onRanks(
      2,
      [&](const Rank &rank) {
        if (!rank.stream->canCapture() || !rank.communicator->isCapturable())
          return; // there are no such graphs
        OnDevice value(rank, kFloat, {1}, std::vector<float>{1});
        Status status = reduceAlone(rank, value); // connects the two
        if (status.isOk())
          status = rank.stream->synchronize();
        EXPECT_TRUE(status.isOk()) << status.message();
        if (rank.index() == 1)
          return isOver.wait();
        std::unique_ptr<DeviceGraph> graph;
        EXPECT_TRUE(rank.stream->beginCapture().isOk());
        EXPECT_TRUE(reduceAlone(rank, value).isOk());
        EXPECT_TRUE(rank.stream->endCapture(graph).isOk());
        status = graph ? rank.stream->run(*graph) : Status::ok();
        if (status.isOk())
          status = rank.stream->synchronize();
        for (const char *part : {"all_reduce at node 'lonely'", "rank 1"})
          EXPECT_NE(status.message().find(part), std::string::npos)
              << status.message();
        over.set_value();
      },
      kImpatient);
}

TEST_P(CollectiveTest, aRankMayLeaveWithoutAWait) {
  onLoneRank([&](const Rank &rank) {
    // Never released, since work that uses it may never end.
    auto *value = new OnDevice(rank, kFloat, {1}, std::vector<float>{1});
    (void)reduceAlone(rank, *value);
  });
}

INSTANTIATE_TEST_SUITE_P(Backends, CollectiveTest,
                         testing::Values("host", "fake", "cuda"),
                         [](const auto &info) { return info.param; });

} // namespace
} // namespace shardc::test
