//===- SegmentGraphTest.cpp - When launches are captured ------------------===//
#include "runtime/runner/SegmentGraph.h"

#include <gtest/gtest.h>

namespace shardc::runtime {
namespace {

/// What the engine does with the answers, where updates succeed or do not.
LaunchMode run(SegmentGraph &graph, const MemoryPlacement &placement,
               bool canUpdate = true) {
  const RankPlan plan;
  LaunchMode mode = graph.choose(placement);
  if (mode == LaunchMode::Update && canUpdate)
    graph.updated(plan, {}, placement);
  else if (mode == LaunchMode::Update) {
    graph.drop();
    mode = graph.choose(placement);
  }
  if (mode == LaunchMode::Capture) {
    std::vector<CapturedStretch> captured;
    captured.push_back({0, 2, nullptr});
    graph.captured(std::move(captured), plan, placement);
  }
  if (mode == LaunchMode::Replay)
    graph.replayed();
  graph.hasRunOnce();
  EXPECT_EQ(graph.graphs().empty(), mode == LaunchMode::Plain);
  return mode;
}

TEST(SegmentGraph, isCapturedInTheSecondRun) {
  SegmentGraph graph;
  EXPECT_TRUE(graph.isNewlyBound());
  EXPECT_EQ(run(graph, {1, 0}), LaunchMode::Plain);
  EXPECT_FALSE(graph.isNewlyBound());
  EXPECT_EQ(run(graph, {1, 0}), LaunchMode::Capture);
  EXPECT_EQ(run(graph, {1, 0}), LaunchMode::Replay);
  EXPECT_EQ(run(graph, {1, 0}), LaunchMode::Replay);
}

TEST(SegmentGraph, isUpdatedWhereMemoryIsElsewhere) {
  SegmentGraph graph;
  run(graph, {1, 5});
  run(graph, {1, 5});
  for (MemoryPlacement placement : {MemoryPlacement{2, 5}, {2, 6}, {2, 5}}) {
    EXPECT_EQ(run(graph, placement), LaunchMode::Update);
    EXPECT_EQ(run(graph, placement), LaunchMode::Replay);
  }
}

TEST(SegmentGraph, isUpdatedForOtherSizes) {
  SegmentGraph graph;
  run(graph, {1, 0});
  graph.rebound();
  EXPECT_TRUE(graph.isNewlyBound());
  EXPECT_EQ(run(graph, {2, 0}), LaunchMode::Capture);
  for (uint64_t moves = 3; moves < 9; ++moves) {
    graph.rebound();
    EXPECT_EQ(run(graph, {moves, 0}), LaunchMode::Update);
  }
  graph.rebound(); // even if nothing has moved
  EXPECT_EQ(run(graph, {8, 0}), LaunchMode::Update);
  EXPECT_EQ(run(graph, {8, 0}), LaunchMode::Replay);
}

TEST(SegmentGraph, isCapturedAgainWhereItCannotBeUpdated) {
  SegmentGraph graph;
  run(graph, {1, 0});
  run(graph, {1, 0});
  EXPECT_EQ(run(graph, {2, 0}, /*canUpdate=*/false), LaunchMode::Capture);
  EXPECT_EQ(run(graph, {2, 0}), LaunchMode::Replay);
}

TEST(SegmentGraph, isPlainWhereEverythingChangesAllTheTime) {
  SegmentGraph graph;
  uint64_t moves = 1;
  run(graph, {moves, 0});
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(run(graph, {++moves, 0}, false), LaunchMode::Capture);
  EXPECT_EQ(run(graph, {++moves, 0}, false), LaunchMode::Plain);
  EXPECT_EQ(run(graph, {moves, 0}, false), LaunchMode::Plain);
}

TEST(SegmentGraph, isPlainOnceItWasRefused) {
  SegmentGraph graph;
  run(graph, {1, 0});
  EXPECT_EQ(graph.choose({1, 0}), LaunchMode::Capture);
  graph.refuse();
  EXPECT_EQ(run(graph, {1, 0}), LaunchMode::Plain);
  EXPECT_EQ(run(graph, {2, 0}), LaunchMode::Plain);
}

} // namespace
} // namespace shardc::runtime
