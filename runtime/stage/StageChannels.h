//===- StageChannels.h - The channels between the stages of a replica -----===//
#ifndef SHARDC_RUNTIME_STAGE_STAGECHANNELS_H
#define SHARDC_RUNTIME_STAGE_STAGECHANNELS_H

#include "runtime/collectives/net/NetworkChannel.h"
#include "runtime/collectives/threads/ThreadChannel.h"
#include "runtime/rank/World.h"

#include <functional>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

namespace shardc::runtime {

class StageChannels {
public:
  explicit StageChannels(const World &world) : world(world) {}

  struct Ends {
    int from, to;                 ///< stages
    int fromRank, toRank;         ///< of the world
    std::string sender, receiver; ///< the same, for messages
  };
  /// The channel of a transfer between two ranks, one of them here. Threads at
  /// both ends get the same one.
  StageChannel &between(size_t profile, int64_t transfer, const Ends &ends);

  /// While the stages are opened: what changes as long as one gets on.
  void watch(std::function<uint64_t()> source) {
    sources.push_back(std::move(source));
  }
  /// Of all stages that are here.
  uint64_t progress() const {
    uint64_t sum = 0;
    for (const std::function<uint64_t()> &source : sources)
      sum += source();
    return sum;
  }

  /// A stage has failed: nobody waits for the others any more.
  void abort(const Status &status);
  /// Before a run, while no stage runs.
  void reset();

private:
  using Key = std::tuple<size_t, int64_t, int>; ///< profile, transfer, sender
  const World world;
  std::vector<std::function<uint64_t()>> sources;
  std::map<Key, std::unique_ptr<ThreadChannel>> boxes;
  std::map<Key, std::unique_ptr<NetworkChannel>> channels;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_STAGE_STAGECHANNELS_H
