//===- WeightArrivals.h - How far a replica's weights have come -----------===//
//
// A request may run while weights still come. Each rank reads its own in the
// order in which its programs first need them, and says how far it is in steps:
// the instructions of all programs of its stage, one program after the other,
// and one step behind each program.
//
//   programs    prefill, 4 instructions     decode, 3 instructions
//   steps       0 1 2 3             4       5 6 7             8
//   3 reached   0, 1 and 2 find all that they read
//
// An instruction waits until all ranks of its stage are so far, and a transfer
// until all of both stages are at the program's end, those before the sender
// included: so nobody meets one that still waits for its disk, and how long
// that takes is not held against it.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_WEIGHTS_WEIGHTARRIVALS_H
#define SHARDC_RUNTIME_WEIGHTS_WEIGHTARRIVALS_H

#include "runtime/collectives/threads/Rendezvous.h"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

namespace shardc::runtime {

class WeightArrivals {
public:
  static constexpr uint64_t kAll = UINT64_MAX;

  explicit WeightArrivals(size_t numStages) : stages(numStages) {}

  /// So many ranks of the stage have weights to come. Before anybody waits.
  void expect(int stage, size_t numRanks);
  /// All that steps below `steps` read is there, or on its way to a device
  /// before anything that is enqueued later. kAll: and on the device.
  void reach(int stage, size_t rank, uint64_t steps);
  /// The first error stays: whoever waits, now or later, gets it.
  void fail(const Status &status);

  /// Whether nobody need ask any more.
  bool isComplete() const { return complete.load(std::memory_order_acquire); }
  /// The error, if there was one.
  Status status();
  /// Blocks until all ranks of the stage have reached so much; not beyond an
  /// error of `failure`, if there is one.
  Status await(int stage, uint64_t steps, const RunFailure *failure);

private:
  struct Stage {
    std::vector<uint64_t> ranks;
    std::atomic<uint64_t> reached = kAll; ///< the least of them
  };

  std::vector<Stage> stages;
  std::atomic<bool> complete = false;
  std::mutex mutex; ///< of what follows, and of `ranks`
  std::condition_variable changed;
  Status failed;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_WEIGHTS_WEIGHTARRIVALS_H
