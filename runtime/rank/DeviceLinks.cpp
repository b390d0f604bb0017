#include "runtime/rank/DeviceLinks.h"

#include "runtime/collectives/net/NetworkCommunicator.h"

namespace shardc::runtime {

DeviceLinks::DeviceLinks(const Artifact &artifact, const World &world,
                         std::chrono::milliseconds timeout)
    : world(world), failure(timeout, [&artifact](int rank) {
        return artifact.rankText(rank);
      }) {}

/// Both ranks over the host.
Status DeviceLinks::join(const std::array<int, 2> &ends, int index,
                         std::unique_ptr<Communicator> &pair) {
  if (world.transport) {
    pair = std::make_unique<NetworkCommunicator>(
        *world.transport, std::vector<int>(ends.begin(), ends.end()),
        failure.timeout);
    return Status::ok();
  }
  std::lock_guard lock(mutex);
  auto &group = groups[ends];
  if (!group) {
    group = std::make_unique<SharedMemoryGroup>(
        std::vector<int>(ends.begin(), ends.end()), failure);
    if (!group->allocate())
      return artifactError("out of memory to link the stages' devices");
  }
  pair = group->join(index);
  return Status::ok();
}

Status DeviceLinks::create(const std::array<int, 2> &ends, int index,
                           Device &device, DeviceStream &stream,
                           std::function<uint64_t()> progress,
                           std::unique_ptr<DeviceLink> &link) {
  std::unique_ptr<Communicator> pair;
  SHARDC_RETURN_IF_ERROR(join(ends, index, pair));
  return device.createLink(
      {ends, index, pair.get(), failure.timeout, failure.describeRank,
       [this] { return hasFailed(); }, std::move(progress)},
      stream, link);
}

bool DeviceLinks::hasFailed() const {
  return failure.failed() || world.hasFailed();
}

Status DeviceLinks::restart(const std::array<int, 2> &ends, int index,
                            DeviceLink &link) {
  std::unique_ptr<Communicator> pair;
  SHARDC_RETURN_IF_ERROR(join(ends, index, pair));
  return link.restart(*pair);
}

} // namespace shardc::runtime
