#include "tests/conformance/cuda/SimulatedDevice.h"

#include "tests/conformance/backend/FakeMemory.h"
#include "tests/conformance/cuda/SimulatedCapture.h"
#include "tests/conformance/cuda/SimulatedCosts.h"
#include "tests/conformance/cuda/SimulatedPages.h"
#include "tests/conformance/cuda/SimulatedStream.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>

namespace shardc::testing {
namespace {

struct SimulatedGpu {
  std::atomic<cudaError_t> failure{cudaSuccess};
  size_t taken = 0;
  bool hasContext = false;
};

std::array<SimulatedGpu, kSimulatedMostDevices> gpus;
std::atomic<void (*)(const void *)> beforeRelease{nullptr};
std::mutex mutex; ///< of what GPUs have taken, and of `owners`
struct Owner {
  int device;
  size_t bytes;
};
std::map<void *, Owner> &owners() {
  static auto &map = *new std::map<void *, Owner>;
  return map;
}

thread_local int current = 0;
thread_local cudaError_t lastError = cudaSuccess;

size_t setting(const char *name, size_t otherwise) {
  const char *text = std::getenv(name);
  return text ? static_cast<size_t>(std::atoll(text)) : otherwise;
}

size_t memoryOfEach() {
  return setting("SHARDC_SIMULATED_MEMORY", size_t{4} << 30);
}

bool isThere(int device) { return device >= 0 && device < simulatedDevices(); }

} // namespace

int simulatedDevices() {
  return static_cast<int>(std::min<size_t>(
      setting("SHARDC_SIMULATED_DEVICES", 8), kSimulatedMostDevices));
}

int simulatedCurrent() { return current; }

bool hasSimulatedContext(int device) {
  std::lock_guard lock(mutex);
  return gpus[static_cast<size_t>(device)].hasContext;
}

void failSimulated(int device, cudaError_t error) {
  gpus[static_cast<size_t>(device)].failure = error;
}

cudaError_t simulatedFailure(int device) {
  return gpus[static_cast<size_t>(device)].failure;
}

cudaError_t noted(cudaError_t error) {
  if (error == cudaSuccess)
    error = simulatedFailure(current);
  if (error != cudaSuccess)
    lastError = error;
  return error;
}

bool takeSimulated(int device, size_t bytes) {
  std::lock_guard lock(mutex);
  size_t &taken = gpus[static_cast<size_t>(device)].taken;
  const size_t most = memoryOfEach();
  if (bytes > most || taken > most - bytes)
    return false;
  taken += bytes;
  return true;
}

void giveBackSimulated(int device, size_t bytes) {
  std::lock_guard lock(mutex);
  gpus[static_cast<size_t>(device)].taken -= bytes;
}

void onSimulatedRelease(void (*look)(const void *memory)) {
  beforeRelease = look;
}

bool isInSimulatedAllocation(const void *address, const void *allocation) {
  std::lock_guard lock(mutex);
  const auto found = owners().find(const_cast<void *>(allocation));
  const auto *at = static_cast<const std::byte *>(address);
  const auto *begin = static_cast<const std::byte *>(allocation);
  return found != owners().end() && at >= begin &&
         at < begin + found->second.bytes;
}

int simulatedOwner(const void *memory) {
  std::lock_guard lock(mutex);
  auto behind = owners().upper_bound(const_cast<void *>(memory));
  if (behind == owners().begin())
    return -1;
  const auto &[begin, owner] = *std::prev(behind);
  return static_cast<const std::byte *>(memory) <
                 static_cast<const std::byte *>(begin) + owner.bytes
             ? owner.device
             : -1;
}

bool isOnSimulatedGpu(const void *memory, size_t bytes) {
  return test::FakeMemory::instance().holds(memory,
                                            static_cast<int64_t>(bytes));
}

std::byte *storedOnGpu(int device, const void *memory, size_t bytes) {
  if (isOnSimulatedGpu(memory, bytes) && isOpenTo(device, memory))
    return const_cast<std::byte *>(static_cast<const std::byte *>(memory)) +
           test::FakeMemory::instance().distance();
  std::fprintf(stderr,
               "simulated GPU: work of cuda:%d uses %zu bytes at %p, which are "
               "not a GPU's, or not any more\n",
               device, bytes, memory);
  failSimulated(device, cudaErrorIllegalAddress);
  return nullptr;
}

bool isSimulatedGrid(dim3 blocks, dim3 threads, size_t sharedBytes,
                     size_t mostShared) {
  auto within = [](unsigned value, unsigned most) {
    return value >= 1 && value <= most;
  };
  return within(blocks.x, 0x7fffffff) && within(blocks.y, 65535) &&
         within(blocks.z, 65535) && within(threads.x, 1024) &&
         within(threads.y, 1024) && within(threads.z, 64) &&
         threads.x * threads.y * threads.z <= 1024 && sharedBytes <= mostShared;
}

unsigned mostThreadsOf(const void *kernel) {
  constexpr unsigned char kBranchTarget[] = {0xf3, 0x0f, 0x1e, 0xfa};
  constexpr unsigned char kNop = 0x90;
  const auto *code = static_cast<const unsigned char *>(kernel);
  if (std::memcmp(code, kBranchTarget, sizeof kBranchTarget) == 0)
    code += sizeof kBranchTarget;
  unsigned power = 0;
  while (code[power] == kNop)
    ++power;
  return power == 0 ? 256 : 1u << power;
}

void translateWord(void *word) {
  const std::byte *address = nullptr;
  std::memcpy(&address, word, sizeof address);
  test::FakeMemory &memory = test::FakeMemory::instance();
  if (!memory.isDevice(address))
    return;
  address += memory.distance();
  std::memcpy(word, &address, sizeof address);
}

} // namespace shardc::testing

using namespace shardc::testing;

extern "C" {

//===--- Devices ----------------------------------------------------------===//

cudaError_t cudaDriverGetVersion(int *version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *count) {
  *count = simulatedDevices();
  return noted(*count > 0 ? cudaSuccess : cudaErrorNoDevice);
}

cudaError_t cudaSetDevice(int device) {
  if (!isThere(device))
    return noted(cudaErrorInvalidDevice);
  current = device;
  std::lock_guard lock(mutex);
  gpus[static_cast<size_t>(device)].hasContext = true;
  return noted(cudaSuccess);
}

cudaError_t cudaGetDevice(int *device) {
  *device = current;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int device) {
  if (!isThere(device))
    return noted(cudaErrorInvalidDevice);
  *properties = {};
  std::snprintf(properties->name, sizeof properties->name, "simulated GPU");
  const size_t capability = setting("SHARDC_SIMULATED_CAPABILITY", 90);
  properties->major = static_cast<int>(capability / 10);
  properties->minor = static_cast<int>(capability % 10);
  properties->totalGlobalMem = memoryOfEach();
  properties->multiProcessorCount = 4;
  properties->warpSize = 32;
  properties->maxThreadsPerBlock = 1024;
  properties->maxThreadsPerMultiProcessor = 2048;
  properties->sharedMemPerBlock = kSimulatedShared;
  properties->sharedMemPerBlockOptin = kSimulatedSharedMost;
  properties->uuid.bytes[0] = static_cast<char>(device);
  properties->uuid.bytes[15] = 1;
  return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer) {
  if (!isThere(device) || !isThere(peer))
    return noted(cudaErrorInvalidDevice);
  const int fabric = static_cast<int>(
      setting("SHARDC_SIMULATED_FABRIC", size_t{kSimulatedMostDevices}));
  *can = device != peer && device / fabric == peer / fabric;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute,
                                   int device) {
  cudaDeviceProp properties = {};
  if (cudaGetDeviceProperties(&properties, device) != cudaSuccess)
    return cudaErrorInvalidDevice;
  switch (attribute) {
  case cudaDevAttrMultiProcessorCount:
    *value = properties.multiProcessorCount;
    return cudaSuccess;
  case cudaDevAttrMaxSharedMemoryPerBlockOptin:
    *value = static_cast<int>(properties.sharedMemPerBlockOptin);
    return cudaSuccess;
  case cudaDevAttrMaxSharedMemoryPerBlock:
    *value = static_cast<int>(properties.sharedMemPerBlock);
    return cudaSuccess;
  case cudaDevAttrMaxThreadsPerMultiProcessor:
    *value = properties.maxThreadsPerMultiProcessor;
    return cudaSuccess;
  case cudaDevAttrComputeCapabilityMajor:
    *value = properties.major;
    return cudaSuccess;
  case cudaDevAttrComputeCapabilityMinor:
    *value = properties.minor;
    return cudaSuccess;
  default:
    return noted(cudaErrorInvalidValue); // add what is asked for
  }
}

//===--- Errors -----------------------------------------------------------===//

cudaError_t cudaGetLastError() {
  const cudaError_t error = cudaPeekAtLastError();
  lastError = cudaSuccess;
  return error;
}

cudaError_t cudaPeekAtLastError() {
  const cudaError_t failure = simulatedFailure(current);
  return failure == cudaSuccess ? lastError : failure;
}

const char *cudaGetErrorName(cudaError_t error) {
  switch (error) {
  case cudaSuccess:
    return "cudaSuccess";
  case cudaErrorMemoryAllocation:
    return "cudaErrorMemoryAllocation";
  case cudaErrorInvalidValue:
    return "cudaErrorInvalidValue";
  case cudaErrorIllegalAddress:
    return "cudaErrorIllegalAddress";
  case cudaErrorInvalidResourceHandle:
    return "cudaErrorInvalidResourceHandle";
  case cudaErrorInvalidConfiguration:
    return "cudaErrorInvalidConfiguration";
  case cudaErrorLaunchOutOfResources:
    return "cudaErrorLaunchOutOfResources";
  case cudaErrorSymbolNotFound:
    return "cudaErrorSymbolNotFound";
  default:
    return "an error of the simulated GPU";
  }
}

const char *cudaGetErrorString(cudaError_t error) {
  return error == cudaErrorIllegalAddress
             ? "an illegal memory access was encountered"
             : cudaGetErrorName(error);
}

//===--- Memory -----------------------------------------------------------===//

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *attributes,
                                     const void *memory) {
  const int owner = simulatedOwner(memory);
  *attributes = {};
  attributes->type = isOnSimulatedGpu(memory, 1) ? cudaMemoryTypeDevice
                                                 : cudaMemoryTypeUnregistered;
  attributes->device = owner >= 0 ? owner : simulatedCurrent();
  return noted(cudaSuccess);
}

cudaError_t cudaMemGetInfo(size_t *free, size_t *total) {
  std::lock_guard lock(mutex);
  *total = memoryOfEach();
  *free = *total - std::min(*total, gpus[static_cast<size_t>(current)].taken);
  return noted(cudaSuccess);
}

cudaError_t cudaMalloc(void **memory, size_t bytes) {
  if (breaksSimulatedCapture())
    return noted(cudaErrorStreamCaptureUnsupported);
  *memory = nullptr;
  if (bytes == 0)
    return noted(cudaSuccess);
  if (!takeSimulated(current, bytes))
    return noted(cudaErrorMemoryAllocation);
  *memory = shardc::test::FakeMemory::instance().allocate(
      static_cast<int64_t>(bytes));
  if (!*memory) {
    giveBackSimulated(current, bytes);
    return noted(cudaErrorMemoryAllocation);
  }
  std::lock_guard lock(mutex);
  owners()[*memory] = {current, bytes};
  spend(HostCost::Allocation);
  return noted(cudaSuccess);
}

/// Whoever relies on a wait in here may wait for ever on another rank.
cudaError_t cudaFree(void *memory) {
  if (!memory)
    return noted(cudaSuccess);
  if (breaksSimulatedCapture())
    return noted(cudaErrorStreamCaptureUnsupported);
  waitAsAFreeDoes();
  if (auto look = beforeRelease.load())
    look(memory);
  std::lock_guard lock(mutex);
  auto found = owners().find(memory);
  if (found == owners().end())
    return noted(cudaErrorInvalidValue);
  gpus[static_cast<size_t>(found->second.device)].taken -= found->second.bytes;
  shardc::test::FakeMemory::instance().release(
      static_cast<std::byte *>(memory));
  owners().erase(found);
  return noted(cudaSuccess);
}

} // extern "C"
