#include "runtime/serve/Generation.h"

namespace shardc::runtime {

Status Generation::wait() {
  std::unique_lock lock(mutex);
  ended.wait(lock, [this] { return isOver; });
  return status;
}

bool Generation::isDone() const {
  std::lock_guard lock(mutex);
  return isOver;
}

std::vector<int64_t> Generation::tokens() const {
  std::lock_guard lock(mutex);
  return made;
}

void Generation::cancel() {
  std::lock_guard lock(mutex);
  isCancelled = true;
}

void Generation::end(Status with) {
  sequence.reset();
  std::lock_guard lock(mutex);
  isOver = true;
  status = std::move(with);
  ended.notify_all();
}

} // namespace shardc::runtime
