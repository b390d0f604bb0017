#include "runtime/backend/cuda/CudaStream.h"

#include <thread>

namespace shardc::runtime {

CudaEvent::~CudaEvent() {
  cudaSetDevice(device);
  cudaEventDestroy(event);
}

Status CudaEvent::synchronize() {
  SHARDC_RETURN_IF_ERROR(cudaStatus(cudaSetDevice(device), "cudaSetDevice"));
  return cudaStatus(cudaEventSynchronize(event), "cudaEventSynchronize");
}

Status CudaStream::create(int device, std::unique_ptr<DeviceStream> &stream) {
  std::unique_ptr<CudaStream> created(new CudaStream(device));
  SHARDC_RETURN_IF_ERROR(created->start());
  stream = std::move(created);
  return Status::ok();
}

Status CudaStream::start() {
  SHARDC_RETURN_IF_ERROR(cudaStatus(cudaSetDevice(device), "cudaSetDevice"));
  SHARDC_RETURN_IF_ERROR(
      cudaStatus(cudaStreamCreateWithFlags(&handle, cudaStreamNonBlocking),
                 "cudaStreamCreate"));
  SHARDC_RETURN_IF_ERROR(products.open());
  SHARDC_RETURN_IF_ERROR(cudaStatus(
      cudaMalloc(reinterpret_cast<void **>(&deviceFault), sizeof(unsigned)),
      "cudaMalloc"));
  SHARDC_RETURN_IF_ERROR(cudaStatus(
      cudaMallocHost(reinterpret_cast<void **>(&hostFault), sizeof(unsigned)),
      "cudaMallocHost"));
  *hostFault = 0;
  return clearFault();
}

/// In this stream: the standard one is not waited for.
Status CudaStream::clearFault() {
  return cudaStatus(cudaMemsetAsync(deviceFault, 0, sizeof(unsigned), handle),
                    "cudaMemsetAsync");
}

CudaStream::~CudaStream() {
  cudaSetDevice(device);
  (void)synchronize();
  cudaFree(deviceFault);
  cudaFreeHost(hostFault);
  if (handle)
    cudaStreamDestroy(handle);
}

static cudaMemcpyKind kindOf(CopyDirection direction) {
  switch (direction) {
  case CopyDirection::HostToDevice:
    return cudaMemcpyHostToDevice;
  case CopyDirection::DeviceToHost:
    return cudaMemcpyDeviceToHost;
  case CopyDirection::DeviceToDevice:
    break;
  }
  return cudaMemcpyDeviceToDevice;
}

Status CudaStream::copy(std::byte *to, const std::byte *from,
                        const CopyShape &shape, CopyDirection direction) {
  if (shape.rowBytes <= 0 || shape.rows <= 0)
    return Status::ok();
  SHARDC_RETURN_IF_ERROR(cudaStatus(cudaSetDevice(device), "cudaSetDevice"));
  const auto bytes = static_cast<size_t>(shape.rowBytes);
  if (shape.rows == 1)
    return cudaStatus(
        cudaMemcpyAsync(to, from, bytes, kindOf(direction), handle),
        "cudaMemcpyAsync");
  return cudaStatus(cudaMemcpy2DAsync(to, static_cast<size_t>(shape.toPitch),
                                      from,
                                      static_cast<size_t>(shape.fromPitch),
                                      bytes, static_cast<size_t>(shape.rows),
                                      kindOf(direction), handle),
                    "cudaMemcpy2DAsync");
}

Status CudaStream::launch(const Kernel &kernel, const KernelCall &call,
                          const CollectiveSite &site) {
  SHARDC_RETURN_IF_ERROR(cudaStatus(cudaSetDevice(device), "cudaSetDevice"));
  atHand = site;
  KernelCall onThis = call;
  onThis.stream = this;
  return kernel.run(onThis);
}

Status CudaStream::record(DeviceEvent &event) {
  SHARDC_RETURN_IF_ERROR(cudaStatus(cudaSetDevice(device), "cudaSetDevice"));
  return cudaStatus(
      cudaEventRecord(static_cast<CudaEvent &>(event).event, handle),
      "cudaEventRecord");
}

Status CudaStream::wait(const DeviceEvent &event) {
  SHARDC_RETURN_IF_ERROR(cudaStatus(cudaSetDevice(device), "cudaSetDevice"));
  return cudaStatus(
      cudaStreamWaitEvent(handle, static_cast<const CudaEvent &>(event).event),
      "cudaStreamWaitEvent");
}

unsigned CudaStream::mayFail(const char *problem) {
  risks.push_back({atHand, problem});
  return static_cast<unsigned>(risks.size());
}

/// The first launch whose data were wrong, once the stream is done.
Status CudaStream::readFault() {
  const unsigned first = *hostFault;
  Status status;
  if (first > 0 && first <= risks.size()) {
    const Risk &risk = risks[first - 1];
    status = artifactError(owner, risk.site.kind, " at node '", risk.site.node,
                           "' (instruction ", risk.site.instruction,
                           "): ", risk.problem);
  }
  risks.clear();
  if (first == 0)
    return Status::ok();
  *hostFault = 0;
  SHARDC_RETURN_IF_ERROR(clearFault());
  return status;
}

/// A collective may never end: then the wait is this side's to give up.
Status CudaStream::watchCollectives() {
  auto since = std::chrono::steady_clock::now();
  const auto spinUntil = since + std::chrono::milliseconds(2);
  while (!pending.empty()) {
    const cudaError_t error = cudaStreamQuery(handle);
    SHARDC_RETURN_IF_ERROR(pending.check(since));
    if (error != cudaErrorNotReady)
      break;
    if (std::chrono::steady_clock::now() > spinUntil)
      std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  return Status::ok();
}

Status CudaStream::synchronize() {
  SHARDC_RETURN_IF_ERROR(cudaStatus(cudaSetDevice(device), "cudaSetDevice"));
  if (!risks.empty())
    SHARDC_RETURN_IF_ERROR(
        cudaStatus(cudaMemcpyAsync(hostFault, deviceFault, sizeof(unsigned),
                                   cudaMemcpyDeviceToHost, handle),
                   "cudaMemcpyAsync"));
  const Status watched = watchCollectives();
  // Collectives that were given up have ended, too: memory may go after this.
  Status status;
  if (cudaError_t error = cudaStreamSynchronize(handle); error != cudaSuccess)
    status = cudaStatus(error, (owner + "the GPU's work failed").c_str());
  else
    status = readFault();
  return watched.isOk() ? status : watched;
}

} // namespace shardc::runtime
