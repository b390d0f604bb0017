//===- SegmentGraphTest.cpp - When launches are captured ------------------===//
#include "runtime/exec/SegmentGraph.h"

#include <gtest/gtest.h>

namespace shardc::runtime {
namespace {

/// What the engine does with the answer.
LaunchMode run(SegmentGraph &graph, const MemoryPlacement &placement) {
  const LaunchMode mode = graph.choose(placement);
  if (mode == LaunchMode::Capture) {
    std::vector<CapturedStretch> captured;
    captured.push_back({0, 2, nullptr});
    graph.captured(std::move(captured), placement);
  }
  if (mode == LaunchMode::Replay)
    graph.replayed();
  graph.hasRunOnce();
  EXPECT_EQ(graph.graphs().empty(), mode == LaunchMode::Plain);
  return mode;
}

TEST(SegmentGraph, isCapturedInTheSecondRun) {
  SegmentGraph graph;
  EXPECT_FALSE(graph.hasRun());
  EXPECT_EQ(run(graph, {1, 0}), LaunchMode::Plain);
  EXPECT_EQ(run(graph, {1, 0}), LaunchMode::Capture);
  EXPECT_EQ(run(graph, {1, 0}), LaunchMode::Replay);
  EXPECT_EQ(run(graph, {1, 0}), LaunchMode::Replay);
}

TEST(SegmentGraph, isCapturedAgainWhereMemoryIsElsewhere) {
  SegmentGraph graph;
  run(graph, {1, 5});
  for (MemoryPlacement placement :
       {MemoryPlacement{1, 5}, {2, 5}, {2, 6}, {2, 5}}) {
    EXPECT_EQ(run(graph, placement), LaunchMode::Capture);
    EXPECT_EQ(run(graph, placement), LaunchMode::Replay);
  }
}

TEST(SegmentGraph, isPlainWhereMemoryMovesAllTheTime) {
  SegmentGraph graph;
  uint64_t moves = 1;
  run(graph, {moves, 0});
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(run(graph, {++moves, 0}), LaunchMode::Capture);
  EXPECT_EQ(run(graph, {++moves, 0}), LaunchMode::Plain);
  EXPECT_EQ(run(graph, {moves, 0}), LaunchMode::Plain);
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
