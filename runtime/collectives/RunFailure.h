//===- RunFailure.h - The error with which a run ends ---------------------===//
#ifndef SHARDC_RUNTIME_COLLECTIVES_RUNFAILURE_H
#define SHARDC_RUNTIME_COLLECTIVES_RUNFAILURE_H

#include "runtime/base/Status.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace shardc::runtime {

class Rendezvous;

/// The error of the current run, shared by all ranks and groups of a session.
class RunFailure {
public:
  /// `describeRank` says where a rank is, for the timeout's message.
  RunFailure(std::chrono::milliseconds timeout,
             std::function<std::string(int)> describeRank)
      : timeout(timeout), describeRank(std::move(describeRank)) {}

  /// The first error stays and wakes all waiters.
  void fail(const Status &status);
  bool failed() const { return hasFailed.load(std::memory_order_acquire); }
  Status status() const;
  /// Only while no rank runs: forgets the error, empties the rendezvous.
  void reset();

  const std::chrono::milliseconds timeout;
  const std::function<std::string(int)> describeRank;
  /// Changes as long as some rank of the session gets on: a wait for one that
  /// waits for others is no hang. Set before any rank waits; may be empty.
  std::function<uint64_t()> progress;

private:
  friend class Rendezvous;
  mutable std::mutex mutex;
  Status first;
  std::atomic<bool> hasFailed = false;
  std::vector<Rendezvous *> waitingPlaces;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_COLLECTIVES_RUNFAILURE_H
