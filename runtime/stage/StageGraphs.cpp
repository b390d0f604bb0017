//===- StageGraphs.cpp - A segment launched, captured or replayed ---------===//
#include "runtime/rank/SegmentCapture.h"
#include "runtime/stage/Stage.h"

namespace shardc::runtime {

/// What decides on this is the same on all ranks.
bool Stage::mayCapture(int rank) const {
  return options.graphs && !options.measure && !options.checkReplicas &&
         ranks[static_cast<size_t>(rank)].stream->canCapture();
}

static void count(LaunchMode mode, LaunchStats &stats) {
  switch (mode) {
  case LaunchMode::Plain:
    ++stats.launched;
    break;
  case LaunchMode::Capture:
    ++stats.captured;
    break;
  case LaunchMode::Update:
    ++stats.updated;
    break;
  case LaunchMode::Replay:
    ++stats.replayed;
    break;
  }
}

/// What is to be replayed is there afterwards, if `mode` says so.
Status Stage::prepareGraph(int rank, SegmentPlan &segment,
                           const RunControl &control, LaunchMode &mode) {
  RankState &mine = ranks[static_cast<size_t>(rank)];
  SegmentGraph &graph = segment.graph;
  const MemoryPlacement placement{mine.moves, state ? state->placement() : 0};
  mode = mayCapture(rank) ? graph.choose(placement) : LaunchMode::Plain;
  if (mode == LaunchMode::Update) {
    const std::vector<size_t> changed = graph.findChanged(segment.plan);
    bool isUpdated = false;
    SHARDC_RETURN_IF_ERROR(updateTogether(segment.plan, worldRank(rank),
                                          control, changed, graph.graphs(),
                                          isUpdated));
    if (isUpdated) {
      graph.updated(segment.plan, changed, placement);
      return Status::ok();
    }
    graph.drop();
    mode = graph.choose(placement);
  }
  if (mode == LaunchMode::Capture) {
    std::vector<CapturedStretch> made;
    SHARDC_RETURN_IF_ERROR(
        captureTogether(segment.plan, worldRank(rank), control, made));
    if (made.empty()) {
      graph.refuse();
      mode = LaunchMode::Plain;
    } else
      graph.captured(std::move(made), segment.plan, placement);
  }
  if (mode == LaunchMode::Replay)
    graph.replayed();
  return Status::ok();
}

Status Stage::launchSegment(int rank, SegmentPlan &segment) {
  RankState &mine = ranks[static_cast<size_t>(rank)];
  RunControl control =
      controlOf(rank, current->ranks[static_cast<size_t>(rank)].timings);
  const bool isNew = segment.graph.isNewlyBound();
  if (isNew)
    ++mine.moves;
  LaunchMode mode = LaunchMode::Plain;
  SHARDC_RETURN_IF_ERROR(prepareGraph(rank, segment, control, mode));
  // Other sizes may take other kernels; graphs load theirs before they run.
  control.settles = isNew && mode == LaunchMode::Plain &&
                    localRanks.size() > 1 && mine.stream->canCapture();
  SHARDC_RETURN_IF_ERROR(runInstructions(segment.plan, worldRank(rank), control,
                                         segment.graph.graphs()));
  segment.graph.hasRunOnce();
  count(mode, mine.launches);
  return Status::ok();
}

/// A rank may have failed anywhere, so that the others are ahead of it.
void Stage::dropGraphs() {
  if (stuck)
    return; // a device may still be at one
  for (auto &loaded : programs)
    for (auto &plan : loaded->plans)
      for (RankShapePlan &rank : plan->ranks)
        for (SegmentPlan &segment : rank.segments)
          segment.graph = SegmentGraph();
}

} // namespace shardc::runtime
