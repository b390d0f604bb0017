//===- SimulatedDevice.h - GPUs that are none -----------------------------===//
//
// Of one process:
//
//   SHARDC_SIMULATED_DEVICES   how many there are (default 8)
//   SHARDC_SIMULATED_FABRIC    of how many each reaches the others' memory
//   SHARDC_SIMULATED_MEMORY    bytes that each has (default 4 GiB)
//
// Memory is FakeMemory's: the host dies where it follows an address of it. A
// kernel gets its arguments with addresses of what is stored (onSimulatedGpu).
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_TESTS_CONFORMANCE_CUDA_SIMULATEDDEVICE_H
#define SHARDC_TESTS_CONFORMANCE_CUDA_SIMULATEDDEVICE_H

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <cuda_runtime_api.h>
#include <functional>
#include <type_traits>

namespace shardc::testing {

inline constexpr int kSimulatedMostDevices = 256;
/// Of a block, without and with cudaFuncSetAttribute; of Hopper.
inline constexpr size_t kSimulatedShared = 48 << 10,
                        kSimulatedSharedMost = 227 << 10;

int simulatedDevices();
/// That of this thread.
int simulatedCurrent();
/// Whether this process has taken it, which costs it memory.
bool hasSimulatedContext(int device);

/// Work of the device failed: so does everything on it from now on.
void failSimulated(int device, cudaError_t error);
cudaError_t simulatedFailure(int device);

/// The thread's last error, for cudaGetLastError: that work is under way, too,
/// which CUDA's documents leave open.
cudaError_t noted(cudaError_t error);

/// Called with memory that is about to be released.
void onSimulatedRelease(void (*look)(const void *memory));

/// Whether an address is in what cudaMalloc has given there.
bool isInSimulatedAllocation(const void *address, const void *allocation);

/// That whose memory cudaMalloc has given there; -1: none's.
int simulatedOwner(const void *memory);

/// Whether a GPU may use these bytes.
bool isOnSimulatedGpu(const void *memory, size_t bytes);
/// Where they are stored, for work that runs. Null, and the device has failed,
/// where they are not the device's, or not any more.
std::byte *storedOnGpu(int device, const void *memory, size_t bytes);

/// What a launch says beside its arguments, and a graph's node keeps.
struct SimulatedAttributes {
  struct Cluster {
    unsigned x = 0, y = 0, z = 0;
    bool operator==(const Cluster &) const = default;
  };
  /// It may begin before the kernel ahead has ended.
  bool isProgrammatic = false;
  Cluster cluster = {}, preferredCluster = {};
  bool isOfRows = false; ///< a copy of more than one
  bool operator==(const SimulatedAttributes &) const = default;
};

/// Work of a stream of this thread's device, done when somebody waits for it.
cudaError_t enqueueSimulated(cudaStream_t stream, std::function<void()> work,
                             const SimulatedAttributes &attributes = {});

/// Whether a launch of such blocks is within what a GPU can do.
bool isSimulatedGrid(dim3 blocks, dim3 threads, size_t sharedBytes,
                     size_t mostShared);

/// Threads of a block that the registers of a kernel are enough for, as its
/// code says (__launch_bounds__). Where it does not, a thread may have 255 of
/// the 65,536 that a block has.
unsigned mostThreadsOf(const void *kernel);

/// Replaces an address of the device by that of what is stored there.
void translateWord(void *word);

/// A kernel's argument as it is on the GPU: each aligned word of it that is an
/// address of the device is taken for one. Nothing else looks like these.
template <typename T> T onSimulatedGpu(T value) {
  static_assert(std::is_trivially_copyable_v<T>);
  auto *bytes = reinterpret_cast<std::byte *>(&value);
  if constexpr (alignof(T) >= alignof(void *))
    for (size_t at = 0; at + sizeof(void *) <= sizeof(T); at += sizeof(void *))
      translateWord(bytes + at);
  return value;
}

} // namespace shardc::testing

#endif // SHARDC_TESTS_CONFORMANCE_CUDA_SIMULATEDDEVICE_H
