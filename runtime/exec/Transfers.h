//===- Transfers.h - The channels between the stages of a replica ---------===//
#ifndef SHARDC_RUNTIME_EXEC_TRANSFERS_H
#define SHARDC_RUNTIME_EXEC_TRANSFERS_H

#include "runtime/backend/host/Mailbox.h"
#include "runtime/backend/net/NetworkChannel.h"
#include "runtime/exec/World.h"

#include <map>
#include <memory>
#include <tuple>

namespace shardc::runtime {

class Transfers {
public:
  explicit Transfers(const World &world) : world(world) {}

  struct Ends {
    int from, to;                 ///< stages
    int fromRank, toRank;         ///< of the world
    std::string sender, receiver; ///< the same, for messages
  };
  /// The channel of a transfer between two ranks, one of them here. Threads at
  /// both ends get the same one.
  Channel &between(size_t profile, int64_t transfer, const Ends &ends);

  /// How many values of one transfer may be on the way. What skips stages is
  /// taken later: it must not keep the sender back.
  static size_t numSlots(int from, int to) {
    return static_cast<size_t>(to - from + 1);
  }

  /// A stage has failed: nobody waits for the others any more.
  void abort(const Status &status);
  /// Before a run, while no stage runs.
  void reset();

private:
  using Key = std::tuple<size_t, int64_t, int>; ///< profile, transfer, sender
  const World world;
  std::map<Key, std::unique_ptr<Mailbox>> boxes;
  std::map<Key, std::unique_ptr<NetworkChannel>> channels;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_EXEC_TRANSFERS_H
