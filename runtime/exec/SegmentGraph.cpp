#include "runtime/exec/SegmentGraph.h"

namespace shardc::runtime {

LaunchMode SegmentGraph::choose(const MemoryPlacement &placement) {
  if (!ran || refused)
    return LaunchMode::Plain;
  if (!stretches.empty() && capturedFor == placement)
    return LaunchMode::Replay;
  stretches.clear();
  if (unused < kMostUnused)
    return LaunchMode::Capture;
  refuse();
  return LaunchMode::Plain;
}

void SegmentGraph::captured(std::vector<CapturedStretch> made,
                            const MemoryPlacement &placement) {
  stretches = std::move(made);
  capturedFor = placement;
  ++unused;
}

} // namespace shardc::runtime
