//===- StageChannel.h - What one stage's rank sends to another's ----------===//
//
// Values in order from one rank to another, a few of which may be on the way:
// between threads a ThreadChannel, between processes a NetworkChannel, and
// between devices whatever their link has (DeviceLink).
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_COLLECTIVES_STAGECHANNEL_H
#define SHARDC_RUNTIME_COLLECTIVES_STAGECHANNEL_H

#include "runtime/collectives/Communicator.h"

namespace shardc::runtime {

class RunFailure;

class StageChannel {
public:
  virtual ~StageChannel() = default;

  /// Copies the value and goes on, or waits where too many are on the way.
  /// `failure`: of the rank that calls; its timeout is how long it waits.
  virtual Status send(const TensorView &from, RunFailure &failure,
                      const CollectiveSite &site) = 0;
  /// Into a view of as many bytes as were sent.
  virtual Status receive(const TensorView &to, RunFailure &failure,
                         const CollectiveSite &site) = 0;
};

/// How many values of one transfer between two stages may be on the way. What
/// skips stages is taken later: it must not keep the sender back.
inline size_t transferSlots(int from, int to) {
  return static_cast<size_t>(to - from + 1);
}

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_COLLECTIVES_STAGECHANNEL_H
