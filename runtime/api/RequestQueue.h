//===- RequestQueue.h - Requests that run beside their caller -------------===//
//
//   RequestQueue queue(2);                       two replicas: two at a time
//   std::shared_ptr<QueuedRequest> request;
//   queue.submit({.body = ..., .onEnd = ...}, request);
//   request->wait();
//
// In the order in which they come, but that those with the same key (a state, a
// pool) never run together: one waits for the one before it. onEnd is called
// once for each that was taken, on a thread of the queue's; or, where it is
// closed, of whoever does that.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_API_REQUESTQUEUE_H
#define SHARDC_RUNTIME_API_REQUESTQUEUE_H

#include "runtime/base/Status.h"
#include "runtime/launch/RunOptions.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include <unistd.h>

namespace shardc::runtime {

class RequestQueue;

struct QueuedRequest {
  std::function<Status(const RunOptions &)> body;
  std::function<void(const Status &)> onEnd; ///< may be empty
  const void *key = nullptr;                 ///< null: it may run beside any
  std::chrono::milliseconds deadline{0};     ///< from now; 0: none

  /// Until onEnd has returned. InvalidArgument within an onEnd of its queue,
  /// where that may be never.
  Status wait() const;
  bool isDone() const;

private:
  friend class RequestQueue;
  using Clock = std::chrono::steady_clock;
  void end(const Status &with);
  bool isOver(Clock::time_point now) const {
    return cancellation->isCancelled() || (until && *until <= now);
  }
  Status overStatus() const;

  const RequestQueue *queue = nullptr; ///< that has taken it
  std::shared_ptr<Cancellation> cancellation = std::make_shared<Cancellation>();
  std::optional<Clock::time_point> until;
  mutable std::mutex mutex;
  mutable std::condition_variable ended;
  bool hasEnded = false;
  Status status;
};

class RequestQueue {
public:
  explicit RequestQueue(int mostThreads)
      : mostThreads(static_cast<size_t>(mostThreads)) {}
  ~RequestQueue() { (void)close(); }

  /// An error: it was not taken, and onEnd is not called.
  Status submit(const std::shared_ptr<QueuedRequest> &request);
  /// It ends soon, if it has not ended. From any thread.
  void cancel(QueuedRequest &request);
  /// All that were taken end, as cancelled; waits for them. False in a process
  /// that was forked from the one that made it: then nothing of it may be used.
  bool close();
  /// Whether this thread is in the onEnd of a request of it: nothing can be waited
  /// for there.
  bool isInCallback() const;

private:
  using Clock = QueuedRequest::Clock;
  using Waiting = std::deque<std::shared_ptr<QueuedRequest>>;
  void work();
  void watch();
  Status startThreads();
  Waiting::iterator findNext();

  const size_t mostThreads;
  const pid_t process = getpid();
  std::mutex mutex; ///< of all that follows
  std::condition_variable changed, watched;
  Waiting waiting;
  std::list<std::shared_ptr<QueuedRequest>> running;
  std::vector<std::thread> threads;
  size_t numIdle = 0;
  std::thread watcher; ///< ends those that wait when their time has come
  bool isClosed = false;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_API_REQUESTQUEUE_H
