#include "runtime/exec/SegmentGraph.h"

namespace shardc::runtime {

LaunchMode SegmentGraph::choose(const MemoryPlacement &placement) {
  if (!ran || refused)
    return LaunchMode::Plain;
  if (graph && capturedFor == placement)
    return LaunchMode::Replay;
  graph.reset();
  if (unused < kMostUnused)
    return LaunchMode::Capture;
  refuse();
  return LaunchMode::Plain;
}

void SegmentGraph::captured(std::unique_ptr<DeviceGraph> made,
                            const MemoryPlacement &placement) {
  graph = std::move(made);
  capturedFor = placement;
  ++unused;
}

} // namespace shardc::runtime
