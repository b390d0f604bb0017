//===- NcclGroup.h - Ranks that NCCL has connected ------------------------===//
//
// A communicator of NCCL that does not block: a rank that does not come must
// not hang the others.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_CUDA_COLLECTIVES_NCCLGROUP_H
#define SHARDC_RUNTIME_DEVICE_CUDA_COLLECTIVES_NCCLGROUP_H

#include "runtime/device/Backend.h"
#include "runtime/device/cuda/collectives/PendingCollectives.h"

#include <nccl.h>
#include <thread>

namespace shardc::runtime {

class NcclGroup final : public WatchedCommunicator {
public:
  NcclGroup(const GroupPlace &place, int device);
  ~NcclGroup() override;

  /// Whether ranks of the group share a GPU, which NCCL refuses; the same
  /// answer on all of them.
  static Status sharesGpu(const GroupPlace &place, int device, bool &shares);

  /// All ranks of the group call this together; `host` is theirs. Again, once
  /// all of them have aborted it.
  Status connect(Communicator &host);
  /// Waits until NCCL has taken in what was asked of it.
  Status settle(const char *what, ncclResult_t result);
  /// Its device becomes the current one; an error if it was aborted.
  Status enter();
  Status setDevice();

  /// Null: it is not connected, or was aborted.
  ncclComm_t comm() const { return handle; }

  /// Ends it where nothing is under way, or is aborted, and no graph is left
  /// that has a collective of it: what others still receive is sent first.
  void close();

  // WatchedCommunicator
  Status asyncError() override;
  /// On a thread of its own: ncclCommAbort ends the operations at once, and
  /// returns when the graphs that have some are gone.
  void abort() override;
  std::string otherRanks() const override;
  std::chrono::milliseconds timeout() const override { return longestWait; }
  const std::function<uint64_t()> &progress() const override {
    return askProgress;
  }
  bool hasFailed() const override { return askFailed && askFailed(); }

private:
  const int device, index;
  const std::vector<int> members;
  const std::function<std::string(int)> describeRank;
  const std::chrono::milliseconds longestWait;
  const std::function<bool()> askFailed;
  const std::function<uint64_t()> askProgress;
  ncclComm_t handle = nullptr;
  std::thread aborting;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_DEVICE_CUDA_COLLECTIVES_NCCLGROUP_H
