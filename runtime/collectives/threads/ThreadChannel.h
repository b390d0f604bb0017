//===- ThreadChannel.h - What one stage's rank sends to another's ---------===//
//
// A short queue of values between two ranks of this process, in order. The
// sender copies a value in and goes on; it waits where as many as there are
// slots have not been taken yet, so a stage may be ahead of the next ones by
// that many micro-batches or requests:
//
//   stage 0:  send 0, send 1, send 2 ...        (2 slots: waits here)
//   stage 1:            receive 0 ...
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_COLLECTIVES_THREADS_THREADCHANNEL_H
#define SHARDC_RUNTIME_COLLECTIVES_THREADS_THREADCHANNEL_H

#include "runtime/base/AlignedBuffer.h"
#include "runtime/collectives/StageChannel.h"
#include "runtime/collectives/threads/Rendezvous.h"

#include <mutex>
#include <vector>

namespace shardc::runtime {

/// Who is waited for, in the error of a timeout.
struct ChannelEnd {
  std::string text; ///< "rank 1 (pp 1)"
  int rank = -1;    ///< of the world
};

class ThreadChannel final : public StageChannel {
public:
  ThreadChannel(size_t slots, ChannelEnd sender, ChannelEnd receiver)
      : messages(slots), sender(std::move(sender)),
        receiver(std::move(receiver)) {}

  Status send(const TensorView &from, RunFailure &failure,
              const CollectiveSite &site) override;
  Status receive(const TensorView &to, RunFailure &failure,
                 const CollectiveSite &site) override;

  /// Wakes who waits; all further calls end with that error, until reset.
  void abort(const Status &status);
  /// Only while nobody calls: forgets the error and what was not received.
  void reset();

private:
  struct Message {
    AlignedBuffer memory; ///< grows, and is kept
    int64_t bytes = 0;
  };
  /// Waits until `ready` says yes.
  template <typename Ready>
  Status wait(Ready ready, RunFailure &failure, const CollectiveSite &site,
              const ChannelEnd &other);
  Message &slot(uint64_t number) {
    return messages[static_cast<size_t>(number % messages.size())];
  }

  std::vector<Message> messages;
  const ChannelEnd sender, receiver;
  std::atomic<uint64_t> sent = 0, received = 0;
  FutexWord changes = 0;
  std::atomic<bool> aborted = false;
  std::mutex mutex; ///< of `why`
  Status why;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_COLLECTIVES_THREADS_THREADCHANNEL_H
