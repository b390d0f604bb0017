//===- PendingCollectives.h - Collectives that are not done yet -----------===//
//
// A collective of NCCL that some rank does not come to never ends. Each one is
// noted with an event behind it; whoever waits for the stream asks here whether
// one has taken too long, and then all communicators are aborted, so that the
// stream ends.
//
// The events of a graph that runs again say nothing, since they were over once:
// there a word of the host counts the collectives that are done.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_CUDA_COLLECTIVES_PENDINGCOLLECTIVES_H
#define SHARDC_RUNTIME_DEVICE_CUDA_COLLECTIVES_PENDINGCOLLECTIVES_H

#include "runtime/base/PatientDeadline.h"
#include "runtime/collectives/Communicator.h"

#include <chrono>
#include <cuda_runtime_api.h>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace shardc::runtime {

/// A communicator, to those who watch over it.
class WatchedCommunicator {
public:
  virtual ~WatchedCommunicator() = default;
  /// Error of NCCL's own threads (a peer that has died), if there is one.
  virtual Status asyncError() = 0;
  /// Ends its operations; they fail from now on.
  virtual void abort() = 0;
  /// "rank 0, rank 1 in MatMul at node '/up'": all but this one.
  virtual std::string otherRanks() const = 0;
  /// How long the others may not come although nobody gets on.
  virtual std::chrono::milliseconds timeout() const = 0;
  virtual const std::function<uint64_t()> &progress() const = 0;
  /// A rank has: what it should come to will hardly end.
  virtual bool hasFailed() const = 0;
};

/// A word of the host that a graph's collectives count in. It is there for as
/// long as one of them is pending, also where the graph is not.
class CollectiveCount {
public:
  CollectiveCount() = default;
  CollectiveCount(const CollectiveCount &) = delete;
  ~CollectiveCount();
  Status open();
  unsigned *word() const { return done; }
  unsigned numDone() const;
  void restart();

private:
  unsigned *done = nullptr; ///< pinned
};

/// Those of a graph, in the order in which they run.
class CapturedCollectives {
public:
  CapturedCollectives() = default;
  CapturedCollectives(const CapturedCollectives &) = delete;
  ~CapturedCollectives();

  // While the graph is captured: open before, joinTo at the end.
  Status open();
  Status add(WatchedCommunicator &by, const CollectiveSite &site,
             cudaStream_t stream);
  /// All streams that were added to have to end in the one that is captured.
  Status joinTo(cudaStream_t stream);

  struct Entry {
    WatchedCommunicator *by;
    CollectiveSite site;
  };
  const std::vector<Entry> &entries() const { return list; }
  /// Null where there are none.
  const std::shared_ptr<CollectiveCount> &counted() const { return count; }

private:
  std::vector<Entry> list;
  std::vector<cudaStream_t> streams;
  std::shared_ptr<CollectiveCount> count;
  cudaEvent_t event = nullptr;
};

class PendingCollectives {
public:
  PendingCollectives() = default;
  PendingCollectives(const PendingCollectives &) = delete;
  ~PendingCollectives();

  /// Behind the collective that was just enqueued on `stream`.
  Status add(WatchedCommunicator &by, const CollectiveSite &site,
             cudaStream_t stream);
  /// What is added from now on is the graph's, until null says that it is
  /// captured.
  void captureInto(CapturedCollectives *graph) { capturing = graph; }
  /// The graph is about to run. It is not pending; it may go while it is.
  void addAll(CapturedCollectives &graph);
  bool isPending(const CapturedCollectives &graph) const;
  bool empty() const { return pending.empty(); }
  /// The stream is over, however it ended.
  void clear();
  /// The same of those that are done.
  void forgetDone();
  /// For a wait for these, as patient as the first one's communicator.
  PatientDeadline startWait();
  /// Forgets what is done; `deadline` starts anew where that is something. Error:
  /// one has failed, or the first has not been done for too long; all
  /// communicators are then aborted.
  Status check(PatientDeadline &deadline);
  /// Ends what is pending, of all communicators: the stream that they share can
  /// only end when none of them waits any more.
  void abortAll();
  /// A communicator goes: forgets all of its own.
  void forget(const WatchedCommunicator &communicator);

private:
  struct Entry {
    WatchedCommunicator *by;
    CollectiveSite site;
    cudaEvent_t event; ///< null: the graph counts
    std::shared_ptr<CollectiveCount> count = nullptr; ///< the graph's
    unsigned number = 0;                              ///< in the graph, from 1

    cudaError_t query() const;
  };
  Status takeEvent(cudaEvent_t &event);
  void reuse(const Entry &entry) {
    if (entry.event)
      spare.push_back(entry.event);
  }
  Status fail(const Entry &entry, const std::string &what);

  CapturedCollectives *capturing = nullptr;
  std::vector<Entry> pending; ///< in order; few, since each run ends in a wait
  /// When a wait has found that another rank failed.
  std::optional<std::chrono::steady_clock::time_point> failedSince;
  std::vector<cudaEvent_t> spare; ///< events are used again
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_DEVICE_CUDA_COLLECTIVES_PENDINGCOLLECTIVES_H
