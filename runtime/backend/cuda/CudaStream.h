//===- CudaStream.h - Work of one GPU in order ----------------------------===//
//
// A CUDA stream and what the kernels on it share: cuBLASLt's products, and a
// word in which kernels say that their data are out of range
// (an index of Gather), since they cannot return a status. The first such
// launch is named by the next synchronize.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_BACKEND_CUDA_CUDASTREAM_H
#define SHARDC_RUNTIME_BACKEND_CUDA_CUDASTREAM_H

#include "runtime/backend/Backend.h"
#include "runtime/backend/cuda/CudaStatus.h"
#include "runtime/backend/cuda/GemmCache.h"
#include "runtime/backend/cuda/PendingCollectives.h"

#include <vector>

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
  Status synchronize() override;

  // For kernels and communicators of this backend.

  /// The stream of a call. Kernels of this backend are launched by no other.
  static CudaStream &of(const KernelCall &call) {
    return *static_cast<CudaStream *>(call.stream);
  }
  cudaStream_t stream() const { return handle; }
  GemmCache &gemms() { return products; }
  /// Where a kernel leaves nonzero if its data are wrong: its launch's number,
  /// and the first one stays.
  unsigned *faultWord() const { return deviceFault; }
  /// Number of the launch at hand, from 1; `problem` is the message. Text that
  /// stays, as that of the launch's site does.
  unsigned mayFail(const char *problem);
  /// Collectives that synchronize watches over.
  PendingCollectives &collectives() { return pending; }
  const int device;

private:
  explicit CudaStream(int device) : device(device) {}
  Status start();
  Status clearFault();
  Status readFault();
  Status watchCollectives();

  cudaStream_t handle = nullptr;
  GemmCache products;
  unsigned *deviceFault = nullptr;
  unsigned *hostFault = nullptr; ///< pinned copy
  CollectiveSite atHand;
  struct Risk {
    CollectiveSite site;
    const char *problem;
  };
  std::vector<Risk> risks; ///< launches that may fail, since the last wait
  PendingCollectives pending;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_BACKEND_CUDA_CUDASTREAM_H
