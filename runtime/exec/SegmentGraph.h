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
// Stretches are captured: what goes through the host (a transfer to another
// stage, a kernel that the device lacks) is run between them as ever.
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

#include <span>
#include <vector>

namespace shardc::runtime {

enum class LaunchMode { Plain, Capture, Replay };

/// Equal as long as all that launches point to is where it was.
struct MemoryPlacement {
  uint64_t moves = 0; ///< first runs of plans, which may have grown buffers
  uint64_t state = 0; ///< CacheState::placement, 0 without a state
  bool operator==(const MemoryPlacement &) const = default;
};

/// Instructions [first, end) of a plan that run as one graph.
struct CapturedStretch {
  size_t first = 0;
  size_t end = 0;
  std::unique_ptr<DeviceGraph> graph;
};

/// Of one rank's plan of a segment.
class SegmentGraph {
public:
  /// For a run with memory placed like that.
  LaunchMode choose(const MemoryPlacement &placement);
  bool hasRun() const { return ran; }

  void hasRunOnce() { ran = true; }
  void captured(std::vector<CapturedStretch> stretches,
                const MemoryPlacement &placement);
  /// It is plain from now on.
  void refuse() {
    stretches.clear();
    refused = true;
  }
  void replayed() { unused = 0; }
  /// What was captured; none where the run is plain.
  std::span<const CapturedStretch> graphs() const { return stretches; }

private:
  /// Captures in a row of which none was run a second time: memory moves all
  /// the time, and a capture costs more than it saves.
  static constexpr int kMostUnused = 3;

  std::vector<CapturedStretch> stretches;
  MemoryPlacement capturedFor;
  bool ran = false, refused = false;
  int unused = 0;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_EXEC_SEGMENTGRAPH_H
