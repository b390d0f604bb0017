#include "runtime/collectives/RunFailure.h"

#include "runtime/collectives/threads/Rendezvous.h"

namespace shardc::runtime {

void RunFailure::fail(const Status &status) {
  {
    std::lock_guard lock(mutex);
    if (hasFailed.load(std::memory_order_relaxed))
      return;
    first = status;
    hasFailed.store(true, std::memory_order_release);
  }
  for (Rendezvous *place : waitingPlaces)
    place->abort();
}

Status RunFailure::status() const {
  std::lock_guard lock(mutex);
  return first;
}

void RunFailure::reset() {
  std::lock_guard lock(mutex);
  first = Status::ok();
  hasFailed.store(false, std::memory_order_release);
  for (Rendezvous *place : waitingPlaces)
    place->clear();
}

} // namespace shardc::runtime
