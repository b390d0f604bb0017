//===- Rendezvous.h - Where ranks wait for each other ---------------------===//
//
// A barrier whose waiters sleep, with a timeout that names who is missing, and
// an abort: the first error of a run (RunFailure) wakes every waiter, and all
// ranks end with that same error.
//
// Members arrive in a tree: four of them count at a node, whose last one goes
// on to the node above, so that no cache line is written by all of many. The
// last at the root opens the meeting. Where each member has a core, it looks
// for some microseconds whether the meeting is open before it sleeps.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_COLLECTIVES_THREADS_RENDEZVOUS_H
#define SHARDC_RUNTIME_COLLECTIVES_THREADS_RENDEZVOUS_H

#include "runtime/base/Futex.h"
#include "runtime/base/Status.h"
#include "runtime/collectives/Communicator.h"
#include "runtime/collectives/RunFailure.h"

#include <atomic>
#include <chrono>
#include <string>
#include <vector>

namespace shardc::runtime {

class Rendezvous {
public:
  /// `members`: the world ranks of the group, in group order. Lives as long as
  /// `failure` is used. Meetings are counted from `first` on.
  Rendezvous(std::vector<int> members, RunFailure &failure, uint32_t first = 0);

  /// Blocks until every member has arrived. What a member wrote before it
  /// arrived is visible to all afterwards.
  Status arrive(int index, const CollectiveSite &site);

  /// Whether so many members may wait without sleeping.
  static bool maySpin(size_t members, int cores) {
    return members <= static_cast<size_t>(cores);
  }

  int size() const { return static_cast<int>(members.size()); }
  /// The number of the next meeting, to a member that is not at one: the same
  /// for all until each has come to it. Odd and even ones alternate for ever.
  uint32_t round() const {
    return state.load(std::memory_order_acquire) / kRound;
  }

private:
  friend class RunFailure;

  /// Members of a node of the tree.
  static constexpr size_t kFan = 4;
  /// A member, or a node; on a cache line of its own.
  struct alignas(64) Place {
    std::atomic<size_t> arrivals = 0; ///< of those below
    std::atomic<uint32_t> at = 0;     ///< round + 1 of a member's last arrival
    int instruction = 0;
    int member = 0; ///< whose instruction it is
  };
  void abort();
  void clear();
  Status compare(const Place *begin, const Place *end,
                 const CollectiveSite &site);
  void open();
  bool spin(uint32_t round) const;
  Status wait(int index, uint32_t round, const CollectiveSite &site);
  Status timedOut(const CollectiveSite &site, int index, uint32_t round) const;

  const std::vector<int> members;
  RunFailure &failure;
  /// The members, then the nodes above them, and so on up to the root.
  std::vector<std::vector<Place>> levels;
  const bool spins;
  /// Counts rounds by kRound, so that it goes on from 0 after the last; kAborted
  /// is added when the run has failed. Waiters sleep until it changes.
  static constexpr uint32_t kAborted = 1, kRound = 2;
  alignas(64) FutexWord state;
  std::atomic<bool> hasSleepers = false;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_COLLECTIVES_THREADS_RENDEZVOUS_H
