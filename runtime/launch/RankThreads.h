//===- RankThreads.h - One sleeping thread per rank -----------------------===//
//
// Created when an artifact is opened, kept until it is closed. A job is handed
// to all of them; between jobs they sleep.
//
//   RankThreads threads;
//   SHARDC_RETURN_IF_ERROR(threads.start(8, [](int rank) {}));
//   auto job = [&](int rank) { results[rank] = rank; };
//   threads.run(job, giveUp);     // true: all 8 are done
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_LAUNCH_RANKTHREADS_H
#define SHARDC_RUNTIME_LAUNCH_RANKTHREADS_H

#include "runtime/base/Futex.h"
#include "runtime/base/Status.h"

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

namespace shardc::runtime {

class RankThreads {
public:
  RankThreads() = default;
  RankThreads(const RankThreads &) = delete;
  ~RankThreads();

  /// Starts the threads; `begin` runs first on each of them.
  Status start(int ranks, std::function<void(int)> begin);

  /// Runs job(rank) on every thread and waits until all are done. `job` must
  /// not throw. `giveUp` is asked about every 50 ms; once it is true, the wait
  /// ends with false and the threads that still run keep using `job`: the
  /// caller must then keep everything alive for ever.
  template <typename Job, typename GiveUp> bool run(Job &job, GiveUp giveUp) {
    post(&job, [](void *at, int rank) { (*static_cast<Job *>(at))(rank); });
    while (!waitDone())
      if (giveUp())
        return false;
    return true;
  }

  int size() const { return static_cast<int>(threads.size()); }

private:
  using Call = void (*)(void *job, int rank);
  void post(void *job, Call call);
  bool waitDone(); ///< false after some time
  void loop(int rank);

  std::vector<std::thread> threads;
  std::function<void(int)> begin;
  void *job = nullptr;
  Call call = nullptr;
  FutexWord posted = 0; ///< counts jobs
  FutexWord running = 0;
  std::atomic<bool> closing = false;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_LAUNCH_RANKTHREADS_H
