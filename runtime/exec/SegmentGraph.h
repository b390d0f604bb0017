//===- SegmentGraph.h - When a segment's launches are captured ------------===//
//
// A device runs what was captured of a segment at less cost than launch after
// launch (Backend.h). The first run of a plan is plain, so that whatever is set
// up on first use is there; the second one is captured, and later ones replay
// that, until something lies elsewhere:
//
//   run of plan    A      B      A        A       B        A
//                  plain  plain  capture  replay  capture  replay
//
// All ranks that meet in a collective have to come to the same decision without
// asking: a collective is captured by all of them or by none. So the decision
// follows from what all of them do alike, not from addresses: memory only ever
// moves when a plan runs for the first time, or where a state has other memory.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_EXEC_SEGMENTGRAPH_H
#define SHARDC_RUNTIME_EXEC_SEGMENTGRAPH_H

#include "runtime/backend/Backend.h"

namespace shardc::runtime {

enum class LaunchMode { Plain, Capture, Replay };

/// Equal as long as all that launches point to is where it was.
struct MemoryPlacement {
  uint64_t moves = 0; ///< first runs of plans, which may have grown buffers
  uint64_t state = 0; ///< CacheState::placement, 0 without a state
  bool operator==(const MemoryPlacement &) const = default;
};

/// Of one rank's plan of a segment.
class SegmentGraph {
public:
  /// For a run with memory placed like that.
  LaunchMode choose(const MemoryPlacement &placement);
  bool hasRun() const { return ran; }

  void ranPlainly() { ran = true; }
  void captured(std::unique_ptr<DeviceGraph> graph,
                const MemoryPlacement &placement);
  /// It is plain from now on.
  void refuse() {
    graph.reset();
    refused = true;
  }
  /// What was captured, for the run that captured it.
  DeviceGraph &first() { return *graph; }
  /// The same for a later one.
  DeviceGraph &replay() {
    unused = 0;
    return *graph;
  }

private:
  /// Graphs in a row of which none was run a second time: memory moves all the
  /// time, and a capture costs more than it saves.
  static constexpr int kMostUnused = 3;

  std::unique_ptr<DeviceGraph> graph;
  MemoryPlacement capturedFor;
  bool ran = false, refused = false;
  int unused = 0;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_EXEC_SEGMENTGRAPH_H
