#include "runtime/launch/RankThreads.h"

#include "runtime/base/Message.h"

#include <chrono>
#include <system_error>

namespace shardc::runtime {

RankThreads::~RankThreads() {
  {
    std::lock_guard lock(mutex);
    closing = true;
  }
  posted.notify_all();
  for (std::thread &thread : threads)
    thread.join();
}

Status RankThreads::start(int ranks, std::function<void(int)> first) {
  begin = std::move(first);
  threads.reserve(static_cast<size_t>(ranks));
  // std::thread reports a failure by an exception only; it ends here.
  try {
    for (int rank = 0; rank < ranks; ++rank)
      threads.emplace_back([this, rank] { loop(rank); });
  } catch (const std::system_error &error) {
    return artifactError("cannot start the threads of ", ranks,
                         " ranks: ", error.what(),
                         "; compile the model for fewer ranks");
  }
  return Status::ok();
}

void RankThreads::post(void *newJob, Call newCall) {
  {
    std::lock_guard lock(mutex);
    job = newJob;
    call = newCall;
    running = size();
    ++generation;
  }
  posted.notify_all();
}

bool RankThreads::waitDone() {
  std::unique_lock lock(mutex);
  return finished.wait_for(lock, std::chrono::milliseconds(50),
                           [&] { return running == 0; });
}

void RankThreads::loop(int rank) {
  begin(rank);
  unsigned long seen = 0;
  while (true) {
    void *current = nullptr;
    Call run = nullptr;
    {
      std::unique_lock lock(mutex);
      posted.wait(lock, [&] { return closing || generation != seen; });
      if (closing)
        return;
      seen = generation;
      current = job;
      run = call;
    }
    run(current, rank);
    std::lock_guard lock(mutex);
    if (--running == 0)
      finished.notify_all();
  }
}

} // namespace shardc::runtime
