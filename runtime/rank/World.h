//===- World.h - Which ranks this process holds ---------------------------===//
//
// Ranks are threads of one process, or each has a process of its own. In the
// second case all processes do the same things in the same order, as rank 0 says,
// and each does the work of its own rank: they know the sizes of everything, but
// only rank 0 gets the outputs.
//
//   --pp 2 --tp 2, process 3: stage 0 is elsewhere; of stage 1 rank 1 is here
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_RANK_WORLD_H
#define SHARDC_RUNTIME_RANK_WORLD_H

#include "runtime/device/RankDevices.h"
#include "runtime/transport/Transport.h"

namespace shardc::runtime {

struct World {
  Transport *transport = nullptr; ///< null: all ranks are here
  /// Of the streams that belong to one channel each.
  uint32_t firstStream = 0;
  const RankDevices *devices = nullptr;

  bool holds(int worldRank) const {
    return !transport || transport->rank() == worldRank;
  }
  /// Nothing runs any more: a process is gone, or has given up.
  bool isLost() const { return transport && transport->failed(); }
  /// That, or the request at hand has failed in some process.
  bool hasFailed() const {
    return transport && (transport->failed() || transport->requestFailed());
  }
  Status failure() const {
    return transport->failed() ? transport->failure()
                               : transport->requestFailure();
  }
  bool getsOutputs() const { return holds(0); }
  /// Changes as long as some process gets on, as far as this one knows.
  uint64_t progress() const {
    return transport ? static_cast<uint64_t>(
                           transport->lastProgress().time_since_epoch().count())
                     : 0;
  }

  /// The error with which the request ends: with processes, everywhere. Where
  /// none is at hand, all ends.
  Status ended(const Status &status) const {
    return status.isOk() || !transport ? status : transport->end(status);
  }
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_RANK_WORLD_H
