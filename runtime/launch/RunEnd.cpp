#include "runtime/launch/RunEnd.h"

#include "runtime/base/Message.h"
#include "runtime/base/QuietThread.h"

#include <algorithm>

namespace shardc::runtime {

//===----------------------------------------------------------------------===//
// Cancellation
//===----------------------------------------------------------------------===//

static Status cancelledStatus() {
  return Status::error(StatusCode::Cancelled, "the request was cancelled");
}

void Cancellation::cancel() {
  std::lock_guard lock(mutex);
  cancelled = true;
  for (RunEnd *run : running)
    run->end(cancelledStatus());
}

bool Cancellation::isCancelled() const {
  std::lock_guard lock(mutex);
  return cancelled;
}

//===----------------------------------------------------------------------===//
// Deadlines
//===----------------------------------------------------------------------===//

Deadlines::~Deadlines() {
  {
    std::lock_guard lock(mutex);
    stops = true;
    changed.notify_all();
  }
  if (thread.joinable())
    thread.join();
}

Deadlines::Entry Deadlines::add(Time time, RunEnd &run) {
  std::lock_guard lock(mutex);
  if (!thread.joinable())
    thread = quietThread([this] { loop(); });
  const Entry entry = runs.insert({time, &run});
  if (entry == runs.begin())
    changed.notify_all();
  return entry;
}

void Deadlines::remove(Entry entry) {
  std::lock_guard lock(mutex);
  runs.erase(entry);
}

/// Those that it has ended are no matter to it any more, until they leave.
void Deadlines::loop() {
  std::unique_lock lock(mutex);
  while (!stops) {
    const auto now = std::chrono::steady_clock::now();
    auto next = runs.begin();
    for (; next != runs.end() && next->first <= now; ++next)
      if (!next->second->hasCome())
        next->second->end(Status::error(
            StatusCode::Deadline,
            message("the request was not done within its deadline of ",
                    next->second->options.deadline.count(), " ms")));
    if (next == runs.end()) {
      changed.wait(lock);
      continue;
    }
    const Time time = next->first; // the run may leave meanwhile
    changed.wait_until(lock, time);
  }
}

//===----------------------------------------------------------------------===//
// A run
//===----------------------------------------------------------------------===//

RunEnd::RunEnd(const RunOptions &given, Deadlines &deadlines)
    : options(given), deadlines(deadlines) {
  if (options.cancellation) {
    std::lock_guard lock(options.cancellation->mutex);
    options.cancellation->running.push_back(this);
    if (options.cancellation->cancelled)
      end(cancelledStatus());
  }
  if (options.deadline.count() <= 0)
    return;
  // More than the clock can count is no deadline, but must not pass either.
  constexpr std::chrono::hours kMost(24 * 365);
  try {
    entry = deadlines.add(
        std::chrono::steady_clock::now() +
            std::min<std::chrono::milliseconds>(options.deadline, kMost),
        *this);
  } catch (...) {
    leave();
    throw;
  }
}

RunEnd::~RunEnd() {
  if (options.deadline.count() > 0)
    deadlines.remove(entry);
  leave();
}

void RunEnd::leave() {
  if (!options.cancellation)
    return;
  std::lock_guard lock(options.cancellation->mutex);
  std::erase(options.cancellation->running, this);
}

Status RunEnd::status() const {
  if (!hasCome())
    return Status::ok();
  std::lock_guard lock(mutex);
  return why;
}

void RunEnd::end(const Status &with) {
  std::lock_guard lock(mutex);
  if (hasCome())
    return;
  why = with;
  come.store(true, std::memory_order_release);
  for (const auto &call : watches)
    call(why);
}

RunEnd::Watch::Watch(RunEnd *run, std::function<void(const Status &)> call)
    : run(run) {
  if (!run)
    return;
  std::lock_guard lock(run->mutex);
  if (run->hasCome())
    call(run->why);
  place = run->watches.insert(run->watches.end(), std::move(call));
}

RunEnd::Watch::~Watch() {
  if (!run)
    return;
  std::lock_guard lock(run->mutex);
  run->watches.erase(place);
}

} // namespace shardc::runtime
