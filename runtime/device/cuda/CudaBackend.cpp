//===- CudaBackend.cpp - NVIDIA GPUs: the plugin's entry ------------------===//
#include "runtime/base/AlignedBuffer.h"
#include "runtime/device/Plugin.h"
#include "runtime/device/WholeMemory.h"
#include "runtime/device/cuda/CudaKernelLibrary.h"
#include "runtime/device/cuda/CudaKernels.h"
#include "runtime/device/cuda/CudaPages.h"
#include "runtime/device/cuda/CudaStream.h"
#include "runtime/device/cuda/Requirements.h"
#include "runtime/device/cuda/collectives/NcclCommunicator.h"
#include "runtime/device/cuda/collectives/NcclLink.h"

#include <cstdlib>
#include <nccl.h>

namespace shardc::runtime {
namespace {

class CudaDevice final : public Device {
public:
  explicit CudaDevice(DeviceInfo info)
      : described(std::move(info)), paging(findCudaPaging(described.number)) {}

  const DeviceInfo &info() const override { return described; }

  bool canReach(int peer) const override {
    int can = 0;
    if (peer != described.number &&
        cudaDeviceCanAccessPeer(&can, described.number, peer) != cudaSuccess)
      (void)cudaGetLastError(); // that there is no such device is an answer
    return peer == described.number || can != 0;
  }

  Status checkMemory(const std::byte *memory, int owner) const override {
    SHARDC_RETURN_IF_ERROR(
        cudaStatus(cudaSetDevice(described.number), "cudaSetDevice"));
    cudaPointerAttributes found = {};
    SHARDC_RETURN_IF_ERROR(cudaStatus(cudaPointerGetAttributes(&found, memory),
                                      "cudaPointerGetAttributes"));
    const bool isOfDevice = found.type == cudaMemoryTypeDevice;
    if (found.type == cudaMemoryTypeManaged ||
        (isOfDevice && found.device == owner))
      return Status::ok();
    return argumentError("its address is in memory of ",
                         isOfDevice ? message("cuda:", found.device)
                                    : std::string("the host"),
                         ", expected cuda:", owner, ", as it was bound");
  }

  std::byte *allocate(MemoryKind kind, int64_t bytes) override {
    if (bytes < 0 || bytes > INT64_MAX - 2 * kBufferAlignment ||
        cudaSetDevice(described.number) != cudaSuccess)
      return nullptr;
    const auto size = static_cast<size_t>(bytes > 0 ? bytes : 1);
    void *memory = nullptr;
    const cudaError_t error = kind == MemoryKind::Device
                                  ? cudaMalloc(&memory, size)
                                  : cudaMallocHost(&memory, size);
    if (error == cudaSuccess)
      return static_cast<std::byte *>(memory);
    (void)cudaGetLastError(); // that there is no room is an answer
    return nullptr;
  }
  void release(MemoryKind kind, std::byte *memory) override {
    cudaSetDevice(described.number);
    if (kind == MemoryKind::Device)
      cudaFree(memory);
    else
      cudaFreeHost(memory);
  }
  std::unique_ptr<GrowingMemory> reserve(int64_t bytes) override {
    if (bytes <= paging.pageBytes || paging.pageBytes == 0)
      return WholeMemory::create(*this, bytes);
    if (bytes > INT64_MAX - paging.pageBytes ||
        cudaSetDevice(described.number) != cudaSuccess)
      return nullptr;
    return reserveCudaPages(paging, bytes);
  }
  Status createStream(std::unique_ptr<DeviceStream> &stream) override {
    return CudaStream::create(described.number, stream);
  }
  Status createEvent(std::unique_ptr<DeviceEvent> &event) override {
    SHARDC_RETURN_IF_ERROR(
        cudaStatus(cudaSetDevice(described.number), "cudaSetDevice"));
    cudaEvent_t created = nullptr;
    SHARDC_RETURN_IF_ERROR(
        cudaStatus(cudaEventCreateWithFlags(&created, cudaEventDisableTiming),
                   "cudaEventCreate"));
    event = std::make_unique<CudaEvent>(described.number, created);
    return Status::ok();
  }
  const Kernel *findKernel(std::string_view name) const override {
    return findCudaKernel(name);
  }
  Status loadKernels(const KernelFiles &files,
                     std::unique_ptr<KernelLibrary> &library) override {
    return openCudaKernels(described.number, described.architecture, files,
                           library);
  }
  Status
  createCommunicator(const GroupPlace &place, DeviceStream &stream,
                     std::unique_ptr<Communicator> &communicator) override {
    return NcclCommunicator::create(place, static_cast<CudaStream &>(stream),
                                    communicator);
  }
  Status createLink(const GroupPlace &pair, DeviceStream &stream,
                    std::unique_ptr<DeviceLink> &link) override {
    return NcclLink::create(pair, static_cast<CudaStream &>(stream), link);
  }

private:
  const DeviceInfo described;
  const CudaPaging paging;
};

class CudaBackend final : public Backend {
public:
  std::string_view name() const override { return "cuda"; }

  Status findDevices(std::vector<DeviceInfo> &devices) override {
    devices.clear();
    int count = 0;
    SHARDC_RETURN_IF_ERROR(countDevices(count));
    for (int number = 0; number < count; ++number) {
      devices.emplace_back();
      SHARDC_RETURN_IF_ERROR(describe(number, devices.back()));
    }
    return Status::ok();
  }

  Status open(int number, std::unique_ptr<Device> &device) override {
    int count = 0;
    SHARDC_RETURN_IF_ERROR(countDevices(count));
    if (number < 0 || number >= count)
      return argumentError("there is no device cuda:", number,
                           "; this machine has ", count, " GPUs");
    DeviceInfo info;
    SHARDC_RETURN_IF_ERROR(describe(number, info));
    if (info.refusal.empty())
      askFree(info);
    if (!info.refusal.empty())
      return artifactError("cuda:", number, " (", info.name,
                           ") is refused: ", info.refusal);
    device = std::make_unique<CudaDevice>(std::move(info));
    return Status::ok();
  }

private:
  static Status countDevices(int &count) {
    DriverFacts facts;
    facts.builtWith = CUDART_VERSION;
    // 0 where there is no driver; the count then fails with another message in
    // each version.
    if (cudaDriverGetVersion(&facts.driverVersion) != cudaSuccess)
      facts.driverVersion = 0;
    if (cudaGetDeviceCount(&facts.devices) != cudaSuccess) {
      (void)cudaGetLastError();
      facts.devices = 0;
    }
    SHARDC_RETURN_IF_ERROR(checkDriver(facts));
    int nccl = 0;
    if (ncclGetVersion(&nccl) == ncclSuccess)
      SHARDC_RETURN_IF_ERROR(checkNccl(nccl, NCCL_VERSION_CODE));
    count = facts.devices;
    return Status::ok();
  }

  static Status describe(int number, DeviceInfo &info) {
    cudaDeviceProp properties = {};
    SHARDC_RETURN_IF_ERROR(
        cudaStatus(cudaGetDeviceProperties(&properties, number),
                   "cudaGetDeviceProperties"));
    info.number = number;
    info.name = properties.name;
    info.architecture = message("sm_", properties.major, properties.minor);
    info.memoryBytes = static_cast<int64_t>(properties.totalGlobalMem);
    info.refusal = deviceRefusal(properties.major, properties.minor);
    return Status::ok();
  }

  /// Makes a context: some 500 MB of the GPU's memory for each process.
  static void askFree(DeviceInfo &info) {
    size_t free = 0, total = 0;
    cudaError_t error = cudaSetDevice(info.number);
    if (error == cudaSuccess)
      error = cudaMemGetInfo(&free, &total);
    info.freeBytes = static_cast<int64_t>(free);
    if (error == cudaSuccess)
      return;
    (void)cudaGetLastError();
    info.refusal = message("it cannot be used: ", cudaGetErrorString(error),
                           "; look at nvidia-smi");
  }
};

} // namespace
} // namespace shardc::runtime

using namespace shardc::runtime;

/// NCCL would keep its own registration of memory that a captured collective
/// uses, also where that is released and its addresses are other memory's; what
/// is to be registered, communicators are told (NcclCommunicator::useMemory).
static void keepGraphsUnregistered() {
  setenv("NCCL_GRAPH_REGISTER", "0", /*overwrite=*/0);
}

/// Called when it is loaded, before there are threads of ranks.
extern "C" const PluginDescription *shardrtPlugin() {
  static auto &backend = *new CudaBackend;
  static const bool isFirst = (keepGraphsUnregistered(), true);
  (void)isFirst;
  static const PluginDescription description = {kPluginVersion, pluginLayout(),
                                                &backend};
  return &description;
}
