//===- Rendezvous.h - Where ranks wait for each other ---------------------===//
//
// A barrier whose waiters sleep, with a timeout that names who is missing, and
// an abort: the first error of a run (RunFailure) wakes every waiter, and all
// ranks end with that same error.
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

  int size() const { return static_cast<int>(members.size()); }
  /// The number of the next meeting, to a member that is not at one: the same
  /// for all until each has come to it. Odd and even ones alternate for ever.
  uint32_t round() const {
    return state.load(std::memory_order_acquire) / kRound;
  }

private:
  friend class RunFailure;

  /// A member's last arrival, on a cache line of its own.
  struct alignas(64) Place {
    std::atomic<bool> here = false;
    int instruction = 0;
  };
  void abort();
  void clear();
  Status open(const CollectiveSite &site);
  Status wait(int index, uint32_t round, const CollectiveSite &site);
  std::string timeoutText(const CollectiveSite &site, int index) const;

  const std::vector<int> members;
  RunFailure &failure;
  std::vector<Place> places;
  std::atomic<int> arrivals = 0;
  /// Counts rounds by kRound, so that it goes on from 0 after the last; kAborted
  /// is added when the run has failed. Waiters sleep until it changes.
  static constexpr uint32_t kAborted = 1, kRound = 2;
  FutexWord state;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_COLLECTIVES_THREADS_RENDEZVOUS_H
