#include "runtime/runner/SegmentGraph.h"

namespace shardc::runtime {

LaunchMode SegmentGraph::choose(const MemoryPlacement &placement) const {
  if (!ran)
    return LaunchMode::Plain;
  if (stretches.empty())
    return unused < kMostUnused ? LaunchMode::Capture : LaunchMode::Plain;
  return !isNew && capturedFor == placement ? LaunchMode::Replay
                                            : LaunchMode::Update;
}

void SegmentGraph::captured(std::vector<CapturedStretch> made,
                            const RankPlan &plan,
                            const MemoryPlacement &placement) {
  stretches = std::move(made);
  calls.take(plan);
  capturedFor = placement;
  ++unused;
}

void SegmentGraph::updated(const RankPlan &plan,
                           std::span<const size_t> changed,
                           const MemoryPlacement &placement) {
  calls.takeAgain(plan, changed);
  capturedFor = placement;
  unused = 0;
}

} // namespace shardc::runtime
