//===- NcclCommunicator.h - Collectives between GPUs ----------------------===//
//
// NCCL knows buffers of equal length; ours are strided views of which each rank
// has other parts. What is one piece for both goes as it lies. Everything else
// is packed into slots of the largest rank's length, sent, and put where it
// belongs; what a slot has behind its value is sent and never read:
//
//   all_gather of dim 1, ranks own 3 and 2 columns of [2, 5]:
//   slots  | a a a a a a | b b b b - - |   ->   a a a b b
//                                               a a a b b
//
// Operations run beside the stream that computes (CollectiveStream.h).
// Differences from the host's communicators: sums of 16-bit
// floats are rounded at each hop, as NCCL does it, and of two NaNs none need
// survive a maximum. Bits are the same on every rank of the group.
//
// Nothing of this has run on a GPU yet.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_CUDA_COLLECTIVES_NCCLCOMMUNICATOR_H
#define SHARDC_RUNTIME_DEVICE_CUDA_COLLECTIVES_NCCLCOMMUNICATOR_H

#include "runtime/device/cuda/CudaStream.h"
#include "runtime/device/cuda/collectives/NcclGroup.h"

namespace shardc::runtime {

class NcclCommunicator final : public Communicator {
public:
  /// Null where ranks of the group share a GPU, which NCCL refuses.
  static Status create(const GroupPlace &place, CudaStream &stream,
                       std::unique_ptr<Communicator> &communicator);
  ~NcclCommunicator() override;

  int index() const override { return host.index(); }
  int size() const override { return host.size(); }
  bool isCapturable() const override { return true; }
  Status allReduce(const TensorView &input, const TensorView &output,
                   ReduceKind kind, const CollectiveSite &site) override;
  Status allGather(const TensorView &input, const TensorView &output, int dim,
                   std::span<const OwnedRuns> blocks,
                   const CollectiveSite &site) override;
  Status reduceScatter(const TensorView &input, const TensorView &output,
                       int dim, std::span<const OwnedRuns> blocks,
                       ReduceKind kind, const CollectiveSite &site) override;
  Status allToAll(const TensorView &input, const TensorView &output,
                  const DimBlocks &from, const DimBlocks &to,
                  const CollectiveSite &site) override;
  Status shift(const TensorView &input, const TensorView &output, int distance,
               const CollectiveSite &site) override;
  /// As allGather: who takes which tokens is known on the GPU only, and to wait
  /// for it costs more than to send them all.
  Status dispatch(const TensorView &input, const TensorView &output,
                  std::span<const OwnedRuns> blocks,
                  const ExpertRouting &routing,
                  const CollectiveSite &site) override;
  /// As reduceScatter: ranks have zeros in the rows that they do not take.
  Status combine(const TensorView &input, const TensorView &output,
                 std::span<const OwnedRuns> blocks,
                 const ExpertRouting &routing,
                 const CollectiveSite &site) override;
  Status wait(int flight, const CollectiveSite &site) override;
  bool hasLanded(int flight) override {
    return computing.collectiveStream().hasLanded(flight);
  }
  Status useMemory(std::byte *memory, int64_t bytes) override;
  /// The host's.
  Status exchange(const void *mine, size_t bytes, void *all,
                  const CollectiveSite &site) override {
    return host.exchange(mine, bytes, all, site);
  }

private:
  NcclCommunicator(const GroupPlace &place, CudaStream &stream);
  /// The stream of collectives goes on where the computing one is, and back.
  Status enter();
  Status leave(const CollectiveSite &site);

  /// Memory that NCCL uses as it lies; where it cannot, it copies.
  struct Registered {
    std::byte *memory = nullptr;
    void *handle = nullptr;
  };
  Status registerMemory(std::byte *memory, int64_t bytes, Registered &with);
  Status deregister(Registered &with);
  /// Grows the slots, which are registered.
  Status reserve(int64_t bytes);
  Status copy(const TensorView &to, const TensorView &from);

  Communicator &host;
  CudaStream &computing;
  NcclGroup group;
  const cudaStream_t stream; ///< of collectives
  std::byte *slots = nullptr;
  int64_t slotBytes = 0;
  Registered ofSlots, ofOperands;
  std::vector<int64_t> toPeer, fromPeer; ///< elements, by index in the group
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_DEVICE_CUDA_COLLECTIVES_NCCLCOMMUNICATOR_H
