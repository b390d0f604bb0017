#include "runtime/api/RequestQueue.h"

#include "runtime/base/Message.h"
#include "runtime/base/QuietThread.h"

#include <algorithm>
#include <system_error>

namespace shardc::runtime {

//===----------------------------------------------------------------------===//
// A request
//===----------------------------------------------------------------------===//

namespace {

/// A callback that this thread is in, and those that it was called in.
struct InCallback {
  const RequestQueue *queue;
  const InCallback *outer;
};
thread_local const InCallback *innermost = nullptr;

} // namespace

bool RequestQueue::isInCallback() const {
  for (const InCallback *at = innermost; at; at = at->outer)
    if (at->queue == this)
      return true;
  return false;
}

Status QueuedRequest::wait() const {
  std::unique_lock lock(mutex);
  if (!hasEnded && queue && queue->isInCallback())
    return argumentError("a callback waits for a request of its own session, "
                         "which may not end before the callback does");
  ended.wait(lock, [this] { return hasEnded; });
  return status;
}

bool QueuedRequest::isDone() const {
  std::lock_guard lock(mutex);
  return hasEnded;
}

/// What it holds goes first: whoever is told may use that again.
void QueuedRequest::end(const Status &with) {
  body = {};
  if (onEnd) {
    const InCallback mine{queue, innermost};
    innermost = &mine;
    onEnd(with);
    innermost = mine.outer;
  }
  onEnd = {};
  std::lock_guard lock(mutex);
  status = with;
  hasEnded = true;
  ended.notify_all();
}

Status QueuedRequest::overStatus() const {
  return cancellation->isCancelled()
             ? Status::error(StatusCode::Cancelled, "the request was cancelled")
             : Status::error(StatusCode::Deadline,
                             message("the request was not done within its "
                                     "deadline of ",
                                     deadline.count(), " ms"));
}

//===----------------------------------------------------------------------===//
// The queue
//===----------------------------------------------------------------------===//

Status RequestQueue::submit(const std::shared_ptr<QueuedRequest> &request) {
  if (getpid() != process)
    return artifactError("this process was forked from the one that opened the "
                         "session, and has none of its ranks; open the "
                         "artifact after fork(), or in the child");
  // More than the clock can count is no deadline.
  constexpr std::chrono::hours kMost(24 * 365);
  if (request->deadline.count() > 0)
    request->until = Clock::now() + std::min<std::chrono::milliseconds>(
                                        request->deadline, kMost);
  request->queue = this;
  std::lock_guard lock(mutex);
  if (isClosed)
    return argumentError("the session is being closed");
  waiting.push_back(request);
  if (Status status = startThreads(); !status.isOk()) {
    waiting.pop_back();
    return status;
  }
  changed.notify_one();
  watched.notify_one();
  return Status::ok();
}

/// With the lock.
Status RequestQueue::startThreads() {
  try {
    if (!watcher.joinable())
      watcher = quietThread([this] { watch(); });
    if (numIdle < waiting.size() && threads.size() < mostThreads)
      threads.push_back(quietThread([this] { work(); }));
  } catch (const std::system_error &error) {
    if (threads.empty())
      return artifactError("cannot start the thread that runs requests: ",
                           error.what());
  }
  return Status::ok();
}

void RequestQueue::cancel(QueuedRequest &request) {
  request.cancellation->cancel();
  std::lock_guard lock(mutex);
  watched.notify_one();
}

bool RequestQueue::close() {
  if (getpid() != process)
    return false;
  Waiting left;
  {
    std::lock_guard lock(mutex);
    isClosed = true;
    left.swap(waiting);
    for (const auto &request : running)
      request->cancellation->cancel();
    changed.notify_all();
    watched.notify_all();
  }
  for (const auto &request : left)
    request->end(
        Status::error(StatusCode::Cancelled, "the session was closed"));
  for (std::thread &thread : threads)
    thread.join();
  if (watcher.joinable())
    watcher.join();
  threads.clear();
  return true;
}

RequestQueue::Waiting::iterator RequestQueue::findNext() {
  return std::find_if(waiting.begin(), waiting.end(), [&](const auto &each) {
    return !each->key ||
           std::none_of(running.begin(), running.end(), [&](const auto &other) {
             return other->key == each->key;
           });
  });
}

void RequestQueue::work() {
  std::unique_lock lock(mutex);
  while (true) {
    const auto next = findNext();
    if (next == waiting.end()) {
      if (isClosed)
        return;
      ++numIdle;
      changed.wait(lock);
      --numIdle;
      continue;
    }
    const std::shared_ptr<QueuedRequest> request = std::move(*next);
    waiting.erase(next);
    const auto place = running.insert(running.end(), request);
    lock.unlock();
    Status status;
    const auto now = Clock::now();
    if (request->isOver(now)) {
      status = request->overStatus();
    } else {
      RunOptions options{.cancellation = request->cancellation};
      if (request->until)
        options.deadline =
            std::max(std::chrono::milliseconds(1),
                     std::chrono::ceil<std::chrono::milliseconds>(
                         *request->until - now));
      status = request->body(options);
    }
    lock.lock();
    running.erase(place);
    changed.notify_all(); // its key is free
    lock.unlock();
    request->end(status);
    lock.lock();
  }
}

/// Those that run are ended by what they run with.
void RequestQueue::watch() {
  std::unique_lock lock(mutex);
  while (!isClosed) {
    const auto now = Clock::now();
    const auto over =
        std::find_if(waiting.begin(), waiting.end(),
                     [&](const auto &each) { return each->isOver(now); });
    if (over != waiting.end()) {
      const std::shared_ptr<QueuedRequest> request = std::move(*over);
      waiting.erase(over);
      lock.unlock();
      request->end(request->overStatus());
      lock.lock();
      continue;
    }
    std::optional<Clock::time_point> next;
    for (const auto &each : waiting)
      if (each->until && (!next || *each->until < *next))
        next = each->until;
    if (next)
      watched.wait_until(lock, *next);
    else
      watched.wait(lock);
  }
}

} // namespace shardc::runtime
