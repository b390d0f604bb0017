#include "runtime/weights/WeightArrivals.h"

#include <algorithm>

namespace shardc::runtime {

/// How often one that waits looks whether a rank of its stage has failed.
static constexpr std::chrono::milliseconds kLookAgain{20};

void WeightArrivals::expect(int stage, size_t numRanks) {
  Stage &mine = stages[static_cast<size_t>(stage)];
  mine.ranks.assign(numRanks, 0);
  mine.reached = numRanks > 0 ? 0 : kAll;
}

void WeightArrivals::reach(int stage, size_t rank, uint64_t steps) {
  {
    std::lock_guard lock(mutex);
    Stage &mine = stages[static_cast<size_t>(stage)];
    mine.ranks[rank] = std::max(mine.ranks[rank], steps);
    mine.reached.store(*std::min_element(mine.ranks.begin(), mine.ranks.end()),
                       std::memory_order_release);
    const bool isLast =
        std::all_of(stages.begin(), stages.end(),
                    [](const Stage &each) { return each.reached == kAll; });
    complete.store(isLast, std::memory_order_release);
  }
  changed.notify_all();
}

void WeightArrivals::fail(const Status &status) {
  {
    std::lock_guard lock(mutex);
    if (failed.isOk())
      failed = status;
  }
  changed.notify_all();
}

Status WeightArrivals::status() {
  std::lock_guard lock(mutex);
  return failed;
}

Status WeightArrivals::await(int stage, uint64_t steps,
                             const RunFailure *failure) {
  const Stage &awaited = stages[static_cast<size_t>(stage)];
  if (awaited.reached.load(std::memory_order_acquire) >= steps)
    return Status::ok();
  std::unique_lock lock(mutex);
  while (awaited.reached.load(std::memory_order_acquire) < steps) {
    if (!failed.isOk())
      return failed;
    if (failure && failure->failed())
      return failure->status();
    changed.wait_for(lock, kLookAgain);
  }
  return Status::ok();
}

} // namespace shardc::runtime
