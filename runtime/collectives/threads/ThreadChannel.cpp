#include "runtime/collectives/threads/ThreadChannel.h"

#include "runtime/base/Message.h"
#include "runtime/base/PatientDeadline.h"
#include "runtime/collectives/WaitText.h"
#include "runtime/tensor/CopyView.h"

#include <algorithm>

namespace shardc::runtime {

/// How often a waiting rank looks whether another one of its stage has failed.
static constexpr std::chrono::milliseconds kLook{20};

template <typename Ready>
Status ThreadChannel::wait(Ready ready, RunFailure &failure,
                           const CollectiveSite &site,
                           const ChannelEnd &other) {
  PatientDeadline deadline(failure.timeout, failure.progress);
  while (true) {
    const uint32_t now = changes.load(std::memory_order_acquire);
    if (aborted.load(std::memory_order_acquire)) {
      std::lock_guard lock(mutex);
      return why;
    }
    if (ready())
      return Status::ok();
    if (failure.failed())
      return failure.status();
    if (deadline.hasPassed())
      return artifactError(siteText(site), ": ",
                           waitText(failure.timeout, " for " + other.text))
          .at(placeOf(site, other.rank));
    futexWait(
        changes, now,
        std::min<std::chrono::nanoseconds>(deadline.untilNextLook(), kLook));
  }
}

Status ThreadChannel::send(const TensorView &from, RunFailure &failure,
                           const CollectiveSite &site) {
  const uint64_t number = sent.load(std::memory_order_relaxed);
  SHARDC_RETURN_IF_ERROR(wait(
      [&] {
        return number - received.load(std::memory_order_acquire) <
               messages.size();
      },
      failure, site, receiver));
  Message &message = slot(number);
  message.bytes = viewBytes(from);
  if (message.memory.size() < message.bytes &&
      !message.memory.allocate(message.bytes))
    return artifactError("out of memory for ", message.bytes,
                         " bytes that are sent to ", receiver.text);
  if (message.bytes > 0)
    copyView(packedLike(message.memory.data(), from), from);
  sent.store(number + 1, std::memory_order_release);
  changes.fetch_add(1, std::memory_order_release);
  futexWakeAll(changes);
  return Status::ok();
}

Status ThreadChannel::receive(const TensorView &to, RunFailure &failure,
                              const CollectiveSite &site) {
  const uint64_t number = received.load(std::memory_order_relaxed);
  SHARDC_RETURN_IF_ERROR(
      wait([&] { return sent.load(std::memory_order_acquire) > number; },
           failure, site, sender));
  Message &message = slot(number);
  if (message.bytes != viewBytes(to))
    return artifactError(site.kind, " at node '", site.node, "' expects ",
                         viewBytes(to), " bytes, ", sender.text, " sent ",
                         message.bytes)
        .at(placeOf(site, sender.rank));
  if (message.bytes > 0)
    copyView(to, packedLike(message.memory.data(), to));
  received.store(number + 1, std::memory_order_release);
  changes.fetch_add(1, std::memory_order_release);
  futexWakeAll(changes);
  return Status::ok();
}

void ThreadChannel::abort(const Status &status) {
  {
    std::lock_guard lock(mutex);
    if (aborted.load())
      return;
    why = status;
    aborted.store(true, std::memory_order_release);
  }
  changes.fetch_add(1, std::memory_order_release);
  futexWakeAll(changes);
}

void ThreadChannel::reset() {
  std::lock_guard lock(mutex);
  why = Status::ok();
  aborted.store(false);
  sent.store(0);
  received.store(0);
}

} // namespace shardc::runtime
