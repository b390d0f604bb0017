#include "runtime/base/Message.h"
#include "runtime/device/cuda/CudaStatus.h"
#include "runtime/device/cuda/collectives/PendingCollectives.h"
#include "runtime/device/cuda/kernels/Mark.h"

#include <algorithm>
#include <atomic>

namespace shardc::runtime {

CollectiveCount::~CollectiveCount() { cudaFreeHost(done); }

Status CollectiveCount::open() {
  SHARDC_RETURN_IF_ERROR(cudaStatus(
      cudaMallocHost(reinterpret_cast<void **>(&done), sizeof(unsigned)),
      "cudaMallocHost"));
  *done = 0;
  return Status::ok();
}

unsigned CollectiveCount::numDone() const {
  return std::atomic_ref<unsigned>(*done).load(std::memory_order_acquire);
}

void CollectiveCount::restart() {
  std::atomic_ref<unsigned>(*done).store(0, std::memory_order_release);
}

CapturedCollectives::~CapturedCollectives() {
  if (event)
    cudaEventDestroy(event);
}

Status CapturedCollectives::open() {
  count = std::make_shared<CollectiveCount>();
  SHARDC_RETURN_IF_ERROR(count->open());
  return cudaStatus(cudaEventCreateWithFlags(&event, cudaEventDisableTiming),
                    "cudaEventCreate");
}

Status CapturedCollectives::add(WatchedCommunicator &by,
                                const CollectiveSite &site,
                                cudaStream_t stream) {
  if (!count)
    return artifactError("a collective of a graph does not change");
  list.push_back({&by, site});
  if (std::find(streams.begin(), streams.end(), stream) == streams.end())
    streams.push_back(stream);
  return cuda::mark(count->word(), static_cast<unsigned>(list.size()), stream);
}

Status CapturedCollectives::joinTo(cudaStream_t stream) {
  for (cudaStream_t other : streams) {
    SHARDC_RETURN_IF_ERROR(
        cudaStatus(cudaEventRecord(event, other), "cudaEventRecord"));
    SHARDC_RETURN_IF_ERROR(
        cudaStatus(cudaStreamWaitEvent(stream, event), "cudaStreamWaitEvent"));
  }
  return Status::ok();
}

} // namespace shardc::runtime
