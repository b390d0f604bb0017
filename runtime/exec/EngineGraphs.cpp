//===- EngineGraphs.cpp - A segment launched, captured or replayed --------===//
#include "runtime/exec/Engine.h"

namespace shardc::runtime {

/// What decides on this is the same on all ranks.
bool Engine::mayCapture(int rank) const {
  return options.graphs && !options.measure && !options.checkReplicas &&
         ranks[static_cast<size_t>(rank)].stream->canCapture();
}

Status Engine::launchSegment(int rank, SegmentPlan &segment) {
  RankState &mine = ranks[static_cast<size_t>(rank)];
  SegmentGraph &graph = segment.graph;
  const RunControl control =
      controlOf(rank, current->ranks[static_cast<size_t>(rank)].timings);
  if (!graph.hasRun())
    ++mine.moves;
  const MemoryPlacement placement{mine.moves, state ? state->placement() : 0};
  LaunchMode mode =
      mayCapture(rank) ? graph.choose(placement) : LaunchMode::Plain;
  if (mode == LaunchMode::Capture) {
    std::vector<CapturedStretch> made;
    SHARDC_RETURN_IF_ERROR(
        captureTogether(segment.plan, worldRank(rank), control, made));
    if (made.empty()) {
      graph.refuse();
      mode = LaunchMode::Plain;
    } else
      graph.captured(std::move(made), placement);
  }
  if (mode == LaunchMode::Replay)
    graph.replayed();
  SHARDC_RETURN_IF_ERROR(
      runInstructions(segment.plan, worldRank(rank), control, graph.graphs()));
  graph.hasRunOnce();
  ++(mode == LaunchMode::Plain     ? mine.launches.launched
     : mode == LaunchMode::Capture ? mine.launches.captured
                                   : mine.launches.replayed);
  return Status::ok();
}

/// A rank may have failed anywhere, so that the others are ahead of it.
void Engine::dropGraphs() {
  if (stuck)
    return; // a device may still be at one
  for (auto &loaded : programs)
    for (auto &plan : loaded->plans)
      for (RankShapePlan &rank : plan->ranks)
        for (SegmentPlan &segment : rank.segments)
          segment.graph = SegmentGraph();
}

} // namespace shardc::runtime
