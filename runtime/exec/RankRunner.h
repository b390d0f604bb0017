//===- RankRunner.h - The instruction loop of one rank --------------------===//
#ifndef SHARDC_RUNTIME_EXEC_RANKRUNNER_H
#define SHARDC_RUNTIME_EXEC_RANKRUNNER_H

#include "runtime/backend/Staging.h"
#include "runtime/backend/host/Rendezvous.h"
#include "runtime/exec/HostCalls.h"
#include "runtime/exec/RankPlan.h"
#include "runtime/exec/SegmentGraph.h"
#include "runtime/exec/WeightFeed.h"

#include <atomic>
#include <span>
#include <vector>

namespace shardc::runtime {

/// When an instruction ran, in nanoseconds of the steady clock.
struct InstructionTiming {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t total = 0; ///< over all runs of this shape

  bool hasRun() const { return end > 0; }
};

/// What a rank is doing, for messages of others.
struct RankProgress {
  std::atomic<const artifact::Instruction *> current = nullptr;
  std::atomic<uint64_t> steps = 0; ///< instructions since it was opened

  void leave() { current.store(nullptr, std::memory_order_release); }
};

/// Of an instruction's index, below the run's number.
constexpr int kTraceTagBits = 24;

struct RunControl {
  RunFailure &failure;
  DeviceStream &stream;
  Staging *staging = nullptr;           ///< null: the device is the host
  HostCalls *hostCalls = nullptr;       ///< likewise
  Communicator *world = nullptr;        ///< for the replica check; null: none
  std::span<InstructionTiming> timings; ///< by instruction; empty: not measured
  RankProgress &progress;
  std::vector<uint64_t> &hashes; ///< scratch of the replica check
  /// Scratch of measurements: collectives in flight.
  std::vector<const BoundInstruction *> &inFlight;
  /// The device notes times under tags, this one and the instruction's index;
  /// negative: it does not, and is waited for.
  int64_t traceTag = -1;
  WeightGate *gate = nullptr; ///< null: all weights are there
  /// Nothing is launched behind a collective that is under way. A kernel that
  /// is launched for the first time may be loaded then, which waits for the
  /// device and keeps other ranks of the process from launching: what the
  /// device waits for may be theirs (CUDA Programming Guide, "Lazy Loading").
  bool settles = false;
};

/// Runs all instructions in order, and those that were captured as their
/// graphs. The first error of any rank ends all.
Status runInstructions(RankPlan &plan, int rank, const RunControl &control,
                       std::span<const CapturedStretch> captured = {});

CollectiveSite siteOf(const BoundInstruction &instruction);
/// One of them, where the device is not at a graph.
Status runInstruction(RankPlan &plan, const BoundInstruction &instruction,
                      int rank, const RunControl &control);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_EXEC_RANKRUNNER_H
