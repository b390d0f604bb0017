#include "runtime/serve/SessionKeeper.h"

#include "runtime/session/Settings.h"

namespace shardc::runtime {

Status SessionKeeper::enter(uint64_t &number) {
  std::unique_lock lock(mutex);
  changed.wait(lock, [this] { return !wanted; });
  SHARDC_RETURN_IF_ERROR(gone);
  ++inside;
  number = current;
  return Status::ok();
}

void SessionKeeper::leave() {
  std::lock_guard lock(mutex);
  --inside;
  changed.notify_all();
}

void SessionKeeper::reopen(const Status &why) {
  std::unique_lock lock(mutex);
  changed.wait(lock, [this] { return !wanted; });
  if (!gone.isOk() || !session.isLost()) // another thread was first
    return;
  wanted = true;
  changed.wait(lock, [this] { return inside == 0; });
  lock.unlock();
  const Status status = withoutExceptions([&] {
    return reopenSession ? reopenSession(session, why) : session.reopen();
  });
  lock.lock();
  gone = status;
  ++current;
  wanted = false;
  changed.notify_all();
}

} // namespace shardc::runtime
