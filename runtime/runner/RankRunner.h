//===- RankRunner.h - The instruction loop of one rank --------------------===//
#ifndef SHARDC_RUNTIME_RUNNER_RANKRUNNER_H
#define SHARDC_RUNTIME_RUNNER_RANKRUNNER_H

#include "runtime/collectives/threads/Rendezvous.h"
#include "runtime/device/Staging.h"
#include "runtime/plan/RankPlan.h"
#include "runtime/runner/HostCalls.h"
#include "runtime/runner/SegmentGraph.h"
#include "runtime/runner/SpentByRank.h"
#include "runtime/weights/WeightFeed.h"

#include <atomic>
#include <functional>
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
  /// Memory of the caller is read or written: see CallersMemory.
  std::atomic<bool> borrows = false;
  /// It binds a plan, however long that takes: it does not hang.
  std::atomic<bool> plans = false;

  void leave() { current.store(nullptr, std::memory_order_release); }
};

/// While a rank touches memory of whoever has called run(): its inputs, where
/// kernels read them in place, and its outputs. A rank that hangs is given up,
/// and run() returns beside it; but not while one of these is held, and after
/// a failure none is granted any more. So the caller may do with its memory
/// what it likes once run() has returned.
class CallersMemory {
public:
  CallersMemory(RankProgress &progress, const RunFailure &failure)
      : progress(progress) {
    progress.borrows.store(true, std::memory_order_relaxed);
    // Either this finds the failure, or who gives up finds the above.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (failure.failed())
      status = failure.status();
  }
  ~CallersMemory() { progress.borrows.store(false, std::memory_order_release); }
  CallersMemory(const CallersMemory &) = delete;

  /// Nothing may be touched if it is an error.
  const Status &granted() const { return status; }
  /// For who has found a failure: whether the rank may still touch something.
  static bool isHeld(const RankProgress &progress) {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return progress.borrows.load(std::memory_order_acquire);
  }

private:
  RankProgress &progress;
  Status status;
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
  SpentByRank *spent = nullptr; ///< null: nobody counts
  /// Called behind each instruction; null: nobody waits for one.
  const std::function<Status(const BoundInstruction &)> *behind = nullptr;
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

#endif // SHARDC_RUNTIME_RUNNER_RANKRUNNER_H
