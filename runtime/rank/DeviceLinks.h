//===- DeviceLinks.h - Where both ends of a link meet ---------------------===//
//
// Devices of two stages are linked while both of their ranks are there: each
// rank creates its ends in the order of the stages, so that nobody waits for
// one who waits for him.
//
//   stage 0: 0-1, 0-2      stage 1: 0-1, 1-2      stage 2: 0-2, 1-2
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_RANK_DEVICELINKS_H
#define SHARDC_RUNTIME_RANK_DEVICELINKS_H

#include "runtime/artifact/Artifact.h"
#include "runtime/collectives/threads/SharedMemoryGroup.h"
#include "runtime/device/Backend.h"
#include "runtime/rank/World.h"

#include <array>
#include <map>
#include <memory>
#include <mutex>

namespace shardc::runtime {

/// The links of one replica. Lives as long as they do.
class DeviceLinks {
public:
  DeviceLinks(const Artifact &artifact, const World &world,
              std::chrono::milliseconds timeout);

  /// The end of rank `ends[index]` of the link between two world ranks, sender
  /// first. Null: they have no link. `progress`: see GroupPlace.
  Status create(const std::array<int, 2> &ends, int index, Device &device,
                DeviceStream &stream, std::function<uint64_t()> progress,
                std::unique_ptr<DeviceLink> &link);

  /// The same of one that was created, after a run that failed.
  Status restart(const std::array<int, 2> &ends, int index, DeviceLink &link);

  /// Before all stages create, restart or use their links.
  void reset() { failure.reset(); }
  /// A stage has failed: nobody waits for it any more.
  void fail(const Status &status) { failure.fail(status); }

private:
  bool hasFailed() const;
  Status join(const std::array<int, 2> &ends, int index,
              std::unique_ptr<Communicator> &pair);

  const World world;
  RunFailure failure;
  std::mutex mutex;
  std::map<std::array<int, 2>, std::unique_ptr<SharedMemoryGroup>> groups;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_RANK_DEVICELINKS_H
