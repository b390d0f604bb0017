//===- CudaStream.h - Work of one GPU in order ----------------------------===//
//
// A CUDA stream and what the kernels on it share: cuBLASLt's products, and a
// word in which kernels say that their data are out of range
// (an index of Gather), since they cannot return a status. The first such
// launch is named by the next synchronize, also where a graph has it.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_CUDA_CUDASTREAM_H
#define SHARDC_RUNTIME_DEVICE_CUDA_CUDASTREAM_H

#include "runtime/device/Backend.h"
#include "runtime/device/cuda/CudaStatus.h"
#include "runtime/device/cuda/FaultSites.h"
#include "runtime/device/cuda/attention/FusedAttention.h"
#include "runtime/device/cuda/collectives/CollectiveStream.h"
#include "runtime/device/cuda/collectives/PendingCollectives.h"
#include "runtime/device/cuda/graph/CudaGraph.h"
#include "runtime/device/cuda/products/GemmCache.h"
#include "runtime/device/cuda/trace/CuptiTrace.h"

#include <map>

namespace shardc::runtime {

class CudaEvent final : public DeviceEvent {
public:
  CudaEvent(int device, cudaEvent_t event) : device(device), event(event) {}
  ~CudaEvent() override;
  Status synchronize() override;

  const int device;
  const cudaEvent_t event;
};

class CudaStream final : public DeviceStream {
public:
  static Status create(int device, std::unique_ptr<DeviceStream> &stream);
  ~CudaStream() override;

  Status copy(std::byte *to, const std::byte *from, const CopyShape &shape,
              CopyDirection direction) override;
  Status launch(const Kernel &kernel, const KernelCall &call,
                const CollectiveSite &site) override;
  Status record(DeviceEvent &event) override;
  Status wait(const DeviceEvent &event) override;
  Status waitForOthers(int device) override;
  Status synchronize() override;
  bool canCapture() const override { return true; }
  Status beginCapture() override;
  Status endCapture(std::unique_ptr<DeviceGraph> &graph) override;
  Status beginUpdate(DeviceGraph &graph) override;
  Status endUpdate() override;
  Status run(DeviceGraph &graph) override;
  bool startTrace() override;
  void beginTag(uint64_t tag) override;
  void endTag() override;
  Status takeActivities(std::vector<DeviceActivity> &activities) override;

  // For kernels and communicators of this backend.

  /// The stream of a call. Kernels of this backend are launched by no other.
  static CudaStream &of(const KernelCall &call) {
    return *static_cast<CudaStream *>(call.stream);
  }
  cudaStream_t stream() const { return handle; }
  GemmCache &gemms() { return products; }
  FusedAttentions &fusedAttentions() { return attentions; }
  /// Of what the kernel at hand launches, if it is captured: it stays as long as
  /// the graph.
  void keepCaptured(std::shared_ptr<const void> used);
  /// Where a kernel leaves the number of its site if its data are wrong; the
  /// first one stays.
  unsigned *faultWord() const { return deviceFault; }
  /// Number of the launch at hand; `problem` is the message, text that stays.
  unsigned mayFail(const char *problem, StatusCode code);
  /// Where collectives run.
  CollectiveStream &collectiveStream() { return beside; }
  /// Collectives that synchronize watches over.
  PendingCollectives &collectives() { return pending; }
  /// The same of what goes to and comes from other stages, which may still be
  /// under way when the stream is done.
  PendingCollectives &transfers() { return underWay; }
  const int device;

private:
  explicit CudaStream(int device) : device(device) {}
  Status start();
  Status clearFault();
  Status readFault();
  Status watchCollectives();
  /// A capture is of no use after what it cannot have.
  Status refuseInCapture();
  Status startCapture(std::unique_ptr<CudaGraph> graph);
  Status finishCapture(std::unique_ptr<CudaGraph> &graph);

  cudaStream_t handle = nullptr;
  std::map<int, std::unique_ptr<CudaEvent>> ofOthers; ///< by device
  CollectiveStream beside;
  GemmCache products;
  FusedAttentions attentions;
  unsigned *deviceFault = nullptr;
  unsigned *hostFault = nullptr; ///< pinned copy
  CollectiveSite atHand;
  FaultSites sites;
  CuptiTrace *trace = nullptr; ///< null: nothing is noted
  uint64_t firstTag = 0;       ///< CUPTI's id for tag 0
  bool mayHaveFailed = false;  ///< since the last wait
  PendingCollectives pending;
  PendingCollectives underWay;
  std::unique_ptr<CudaGraph> capturing; ///< null: nothing is
  bool isBroken = false;                ///< what is captured
  CudaGraph *updated = nullptr;         ///< what it is captured for, or null
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_DEVICE_CUDA_CUDASTREAM_H
