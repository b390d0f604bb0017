//===- SegmentGraph.h - When a segment's launches are captured ------------===//
//
// A device runs what was captured of a segment at less cost than launch after
// launch (Backend.h). The first run of a plan is plain, so that whatever is set
// up on first use is there; the second one is captured, and later ones replay
// that:
//
//   run of plan    A      B      A        A       B        A
//                  plain  plain  capture  replay  capture  replay
//
// Where the plan is bound to other sizes since, or something lies elsewhere,
// launches that changed are set anew first. So a step of decoding, whose sizes
// come once, costs few launches:
//
//   past           7      8        9       10
//                  plain  capture  update  update
//
// Stretches are captured: what goes through the host (a transfer to another
// stage, a kernel that the device lacks) is run between them as ever.
//
// All ranks that meet in a collective have to come to the same decision without
// asking: a collective is captured by all of them or by none. So the decision
// follows from what all of them do alike, not from addresses: memory only ever
// moves when a plan runs for the first time with its sizes, or where a state
// or a caller has other memory. Only whether an update succeeds do they have to ask each
// other.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_RUNNER_SEGMENTGRAPH_H
#define SHARDC_RUNTIME_RUNNER_SEGMENTGRAPH_H

#include "runtime/runner/CapturedCalls.h"

#include <span>
#include <vector>

namespace shardc::runtime {

enum class LaunchMode { Plain, Capture, Update, Replay };

/// Equal as long as all that launches point to is where it was.
struct MemoryPlacement {
  uint64_t moves = 0;  ///< runs of plans newly bound, which may grow buffers
  uint64_t state = 0;  ///< CacheState::placement, 0 without a state
  uint64_t inputs = 0; ///< Step::inputPlacement
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
  LaunchMode choose(const MemoryPlacement &placement) const;

  /// The plan has other sizes from now on.
  void rebound() { isNew = true; }
  /// Whether it has not run with its sizes.
  bool isNewlyBound() const { return isNew; }
  void hasRunOnce() {
    ran = true;
    isNew = false;
  }

  void captured(std::vector<CapturedStretch> stretches, const RankPlan &plan,
                const MemoryPlacement &placement);
  /// Instructions whose launches have to be set anew.
  std::vector<size_t> findChanged(const RankPlan &plan) const {
    return calls.findChanged(plan);
  }
  void updated(const RankPlan &plan, std::span<const size_t> changed,
               const MemoryPlacement &placement);
  /// What was captured is of no use any more.
  void drop() { stretches.clear(); }
  /// It is plain from now on.
  void refuse() {
    drop();
    unused = kMostUnused;
  }
  void replayed() { unused = 0; }
  /// What was captured; none where the run is plain.
  std::span<const CapturedStretch> graphs() const { return stretches; }

private:
  /// Captures in a row of which none was run a second time: everything changes
  /// all the time, and a capture costs more than it saves.
  static constexpr int kMostUnused = 3;

  std::vector<CapturedStretch> stretches;
  CapturedCalls calls;
  MemoryPlacement capturedFor;
  bool ran = false, isNew = true;
  int unused = 0;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_RUNNER_SEGMENTGRAPH_H
