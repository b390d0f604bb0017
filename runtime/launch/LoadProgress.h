//===- LoadProgress.h - How far weights have come -------------------------===//
//
//   progress.begin(2, 1);   two ranks load, of one replica
//   progress.tell(100);     one of them has so many bytes
//   progress.tell(60);      and the other one: called with (0, 160)
//   progress.add(30);       so many are there: called with (30, 160)
//
// Nothing is said before all ranks of the first replica have told what they load.
// Replicas come one after the other, and load the same: the first stands for all.
// What there is in all never gets less.
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

  /// So many ranks that are here, of all replicas.
  void begin(size_t newRanks, size_t newReplicas) {
    std::lock_guard lock(mutex);
    ranks = newRanks;
    ofReplica = std::max<size_t>(1, newRanks / newReplicas);
    told = 0;
    loaded = expected = all = 0;
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
    if (!function || isOver || told < std::min(ofReplica, ranks))
      return;
    const size_t replicas = told / ofReplica;
    if (told % ofReplica == 0)
      all = std::max(all, static_cast<int64_t>(double(expected) *
                                               double(ranks / ofReplica) /
                                               double(replicas)));
    all = std::max(all, expected);
    isOver = told >= ranks && loaded >= expected;
    if (!isOver && loaded >= all) // who sees that takes it for the end
      return;
    const auto now = std::chrono::steady_clock::now();
    if (!isOver && now - last < pause)
      return;
    last = now;
    function(isOver ? all : loaded, all);
  }

  std::mutex mutex;
  Function function;
  const std::chrono::milliseconds pause;
  size_t ranks = 0, ofReplica = 1, told = 0;
  int64_t loaded = 0, expected = 0; ///< of those who told
  int64_t all = 0;                  ///< as it was said
  bool isOver = false;
  std::chrono::steady_clock::time_point last = {};
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_LAUNCH_LOADPROGRESS_H
