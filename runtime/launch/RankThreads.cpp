#include "runtime/launch/RankThreads.h"

#include "runtime/base/Message.h"
#include "runtime/base/QuietThread.h"

#include <chrono>
#include <system_error>

namespace shardc::runtime {

RankThreads::~RankThreads() {
  closing.store(true);
  posted.fetch_add(1);
  futexWakeAll(posted);
  for (std::thread &thread : threads)
    thread.join();
}

Status RankThreads::start(int ranks, std::function<void(int)> first) {
  begin = std::move(first);
  threads.reserve(static_cast<size_t>(ranks));
  // std::thread reports a failure by an exception only; it ends here.
  try {
    for (int rank = 0; rank < ranks; ++rank)
      threads.push_back(quietThread([this, rank] { loop(rank); }));
  } catch (const std::system_error &error) {
    return artifactError("cannot start the threads of ", ranks,
                         " ranks: ", error.what(),
                         "; compile the model for fewer ranks");
  }
  return Status::ok();
}

void RankThreads::post(void *newJob, Call newCall) {
  job = newJob; // the threads sleep: see waitDone
  call = newCall;
  running.store(static_cast<uint32_t>(size()), std::memory_order_relaxed);
  posted.fetch_add(1, std::memory_order_release);
  futexWakeAll(posted);
}

bool RankThreads::waitDone() {
  uint32_t left = running.load(std::memory_order_acquire);
  if (left == 0)
    return true;
  // Only the last one wakes this thread, so the word may differ from `left` by
  // now; the wait then returns at once.
  futexWait(running, left, std::chrono::milliseconds(50));
  return running.load(std::memory_order_acquire) == 0;
}

void RankThreads::loop(int rank) {
  begin(rank);
  for (uint32_t seen = 0;;) {
    uint32_t now = posted.load(std::memory_order_acquire);
    if (closing.load())
      return;
    if (now == seen) {
      futexWait(posted, seen);
      continue;
    }
    seen = now;
    call(job, rank);
    if (running.fetch_sub(1, std::memory_order_acq_rel) == 1)
      futexWakeAll(running);
  }
}

} // namespace shardc::runtime
