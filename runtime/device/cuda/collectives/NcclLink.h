//===- NcclLink.h - From a stage's GPU to a later stage's -----------------===//
//
// Values go through slots of their channel, on a stream of the link, so that
// neither side's stream that computes waits before it has to:
//
//   sender     computes a | pack a | computes b | pack b | ...
//     link               ........| send a  |....| send b |
//   receiver   computes y          | take a | computes with a
//     link               recv a    |.. recv b ...
//
// Beside each value a word goes over the host's channel. It keeps the sender
// from being too far ahead, wakes the receiver where the sender has failed, and
// says how long the value is and which one of the link it is: what is left of a
// run that failed is never taken for another value.
//
// NCCL does not buffer: a send ends when it is received. Values of one link are
// therefore received in the order in which they are sent, which is the caller's
// to see to; links do not wait for each other.
//
// Nothing of this has run on a GPU yet.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_CUDA_COLLECTIVES_NCCLLINK_H
#define SHARDC_RUNTIME_DEVICE_CUDA_COLLECTIVES_NCCLLINK_H

#include "runtime/device/cuda/CudaStream.h"
#include "runtime/device/cuda/collectives/NcclGroup.h"

namespace shardc::runtime {

class NcclLink final : public DeviceLink {
public:
  /// Null where both ranks share a GPU, which NCCL refuses.
  static Status create(const GroupPlace &pair, CudaStream &stream,
                       std::unique_ptr<DeviceLink> &link);
  ~NcclLink() override;

  std::unique_ptr<StageChannel> createChannel(StageChannel &host,
                                              size_t slots) override;
  Status drain() override;
  Status restart(Communicator &host) override;

  // For its channels.

  /// Enqueues the transfer of a slot, once `ready` is over; `done` is behind
  /// it.
  Status transfer(std::byte *slot, int64_t bytes, cudaEvent_t ready,
                  cudaEvent_t done, const CollectiveSite &site);
  /// Ends what the other side never came to.
  void finish();
  bool isSender() const { return sends; }
  uint64_t numTransfers() const { return count; }
  NcclGroup &pair() { return group; }
  CudaStream &computingStream() { return computing; }

private:
  NcclLink(const GroupPlace &pair, CudaStream &stream);
  Status connect(Communicator &host);
  Status tryIt();

  CudaStream &computing;
  NcclGroup group;
  const bool sends;
  cudaStream_t stream = nullptr;
  uint64_t count = 0;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_DEVICE_CUDA_COLLECTIVES_NCCLLINK_H
