//===- LoadProgress.h - How far weights have come -------------------------===//
//
//   progress.begin(2);      two ranks load
//   progress.tell(100);     one of them has so many bytes: some 200 in all
//   progress.add(30);       so many are there: called with (30, 200)
//
// Ranks of an artifact have much the same to load: what the first of them say
// stands for all until each has said it, replicas one after the other.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_LAUNCH_LOADPROGRESS_H
#define SHARDC_RUNTIME_LAUNCH_LOADPROGRESS_H

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>

namespace shardc::runtime {

/// Used by the threads of all ranks, and by those that are left behind when the
/// session is closed: the function is the caller's, and not called after that.
class LoadProgress {
public:
  using Function = std::function<void(int64_t loaded, int64_t all)>;
  /// `pause`: at least, between two calls.
  explicit LoadProgress(Function function, std::chrono::milliseconds pause =
                                               std::chrono::milliseconds(100))
      : function(std::move(function)), pause(pause) {}

  void begin(size_t newRanks) {
    std::lock_guard lock(mutex);
    ranks = newRanks;
    told = 0;
    loaded = expected = 0;
    isOver = false;
    last = {};
  }
  void tell(int64_t bytes) {
    std::lock_guard lock(mutex);
    ++told;
    expected += bytes;
    call();
  }
  void add(int64_t bytes) {
    std::lock_guard lock(mutex);
    loaded += bytes;
    call();
  }
  /// Waits for a call that is under way.
  void close() {
    std::lock_guard lock(mutex);
    function = {};
  }

private:
  /// No more often than anybody sees, and once at the end.
  void call() {
    if (!function || isOver || told == 0)
      return;
    isOver = told >= ranks && loaded >= expected;
    const auto now = std::chrono::steady_clock::now();
    if (!isOver && now - last < pause)
      return;
    last = now;
    const double ofAll = double(ranks) / double(told);
    const auto all = static_cast<int64_t>(double(expected) * ofAll);
    function(loaded, isOver ? loaded : std::max(all, loaded));
  }

  std::mutex mutex;
  Function function;
  const std::chrono::milliseconds pause;
  size_t ranks = 0, told = 0;
  int64_t loaded = 0, expected = 0;
  bool isOver = false;
  std::chrono::steady_clock::time_point last = {};
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_LAUNCH_LOADPROGRESS_H
