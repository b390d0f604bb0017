//===- RunEnd.h - A run that is ended from outside ------------------------===//
//
// Made where a request comes in; everything that waits for it watches it:
//
//   RunEnd end(options, deadlines);
//   const RunEnd::Watch watch(&end, [&](const Status &why) { wakeAll(why); });
//   ...
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_LAUNCH_RUNEND_H
#define SHARDC_RUNTIME_LAUNCH_RUNEND_H

#include "runtime/base/Status.h"
#include "runtime/launch/RunOptions.h"

#include <atomic>
#include <condition_variable>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <thread>

namespace shardc::runtime {

/// A thread that ends runs in time; started by the first one that has a
/// deadline.
class Deadlines {
public:
  ~Deadlines();

private:
  friend class RunEnd;
  using Time = std::chrono::steady_clock::time_point;
  using Entry = std::multimap<Time, RunEnd *>::iterator;
  /// Throws where there is no thread to be had.
  Entry add(Time time, RunEnd &run);
  void remove(Entry entry);
  void loop();

  std::mutex mutex; ///< held while a run is ended
  std::condition_variable changed;
  std::multimap<Time, RunEnd *> runs;
  bool stops = false;
  std::thread thread;
};

class RunEnd {
public:
  /// `deadlines` lives longer.
  RunEnd(const RunOptions &options, Deadlines &deadlines);
  ~RunEnd();
  RunEnd(const RunEnd &) = delete;

  bool hasCome() const { return come.load(std::memory_order_acquire); }
  Status status() const; ///< ok until it has

  /// Calls `call` once, when the end comes, or at once if it has. Not any more
  /// once it is destroyed. `run` may be null, and then nothing is called.
  class Watch {
  public:
    Watch(RunEnd *run, std::function<void(const Status &)> call);
    ~Watch();
    Watch(const Watch &) = delete;

  private:
    RunEnd *const run;
    std::list<std::function<void(const Status &)>>::iterator place;
  };

private:
  friend class Cancellation;
  friend class Deadlines;
  void end(const Status &why);
  void leave();

  const RunOptions options;
  Deadlines &deadlines;
  Deadlines::Entry entry;
  mutable std::mutex mutex; ///< held while watches are called
  Status why;
  std::list<std::function<void(const Status &)>> watches;
  std::atomic<bool> come = false;
};

/// Of a run that somebody may end; of all others there is none to ask.
class MaybeEnd {
public:
  MaybeEnd(const RunOptions &options, Deadlines &deadlines) {
    if (options.canEnd())
      end.emplace(options, deadlines);
  }
  RunEnd *get() const { return end ? &*end : nullptr; }

private:
  mutable std::optional<RunEnd> end;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_LAUNCH_RUNEND_H
