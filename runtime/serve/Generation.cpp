#include "runtime/serve/Generation.h"

#include "runtime/base/Message.h"
#include "runtime/session/Settings.h"

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

bool Generation::isToEnd(Status &with) const {
  const auto since = std::chrono::steady_clock::now() - submitted;
  if (request.deadline.count() > 0 && since >= request.deadline)
    with =
        Status::error(StatusCode::Deadline,
                      message("the text was not done within its deadline of ",
                              request.deadline.count(), " ms"));
  std::lock_guard lock(mutex);
  if (isCancelled)
    with = Status::ok();
  return isCancelled || !with.isOk();
}

void Generation::endAsAsked() {
  Status with;
  if (isToEnd(with))
    end(with);
}

void Generation::end(Status with) {
  sequence.reset();
  {
    std::lock_guard lock(mutex);
    if (isOver)
      return;
    isOver = true;
    status = std::move(with);
    ended.notify_all();
  }
  // What it throws is nobody's: the text has ended.
  if (request.onEnd)
    (void)withoutExceptions([this] {
      request.onEnd(status); // which nobody changes any more
      return Status::ok();
    });
}

} // namespace shardc::runtime
