//===- SimulatedLaunch.h - Kernels of CUDA C++ on the host ----------------===//
//
// What Launch.h has of nvcc, for the host's compiler: a launch is enqueued on
// its stream, and runs as a loop over blocks and threads when somebody waits
// for that. Where threads meet, each has a stack of its own, and a barrier ends
// its turn until all of its block have come to it, a shuffle until its warp
// has. Addresses of the device in a kernel's arguments become those of what is
// stored there. So indexing, launch geometry and what threads share are tested
// without a GPU; its scheduling and its instructions are not.
//
// Blocks, and the threads of one between two meetings, run in their order, or,
// with SHARDC_SIMULATED_ORDER, in another one that a GPU may take just as well:
//
//   reverse    the last block and thread first
//   random:7   shuffled, from that seed; some warps fall behind
//
// Each access is looked at, too (SimulatedAccess.h).
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_TESTS_CONFORMANCE_CUDA_SIMULATEDLAUNCH_H
#define SHARDC_TESTS_CONFORMANCE_CUDA_SIMULATEDLAUNCH_H

#ifndef SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_LAUNCH_H
#error "include runtime/device/cuda/kernels/Launch.h"
#endif

#include "tests/conformance/cuda/SimulatedAccess.h"
#include "tests/conformance/cuda/SimulatedDevice.h"

#include <array>
#include <functional>
#include <source_location>
#include <tuple>
#include <vector>
#include <vector_types.h>

#undef __global__
#define __global__
/// For how many threads a kernel's registers are: as many NOPs at its entry as
/// the power of two has (mostThreadsOf).
#undef __launch_bounds__
#define __launch_bounds__(most, ...)                                           \
  __attribute__((patchable_function_entry(__builtin_ctz(most))))

/// Of the thread that is running; one launch runs at a time in each thread of
/// the host.
inline thread_local uint3 threadIdx, blockIdx;
inline thread_local dim3 blockDim, gridDim;
inline constexpr int warpSize = 32;

namespace shardc::testing {

/// Runs all threads of all blocks.
void simulateLaunch(const runtime::cuda::Grid &grid,
                    const std::function<void()> &thread);

std::byte *simulatedSharedMemory();
/// Within what the running block's launch asked for.
bool isSimulatedShared(const void *memory, size_t bytes);
/// What no GPU would do: it ends the process, and says so.
[[noreturn]] void refuseInKernel(const char *why);

/// A line of device code, which threads that meet there have in common.
using CallSite = std::source_location;

void meetAtBarrier(const CallSite &site);
/// What the thread with that lane gave; both are of one warp, and in `lanes`,
/// which are all there.
uint64_t meetAtShuffle(uint64_t mine, int lane, uint32_t lanes,
                       const CallSite &site);

/// A call that all lanes of a warp come to, with the same arguments.
struct WarpCall {
  const char *name = nullptr;
  const void *memory = nullptr;
  uint64_t detail = 0;
  bool operator==(const WarpCall &) const = default;
};
/// What each lane gave. `take` sees it: nobody goes on before all have.
using WarpGifts = std::array<const void *, warpSize>;
void meetInCall(
    const WarpCall &call, const void *mine = nullptr,
    const std::function<void(const WarpGifts &)> &take = [](auto &) {});

/// A copy to shared memory that nobody sees until its thread waits for it. Of
/// `bytes` the last `zeros` become 0 and are not read.
struct AsideCopy {
  std::byte *to;
  const std::byte *from;
  size_t bytes, zeros;
};
void copyAside(const AsideCopy &copy);
void commitCopies();
/// For all but the last `groups` that were committed.
void waitForCopies(size_t groups);

template <typename T>
T shuffle(T value, int lane, uint32_t lanes, const CallSite &site) {
  static_assert(sizeof(T) <= sizeof(uint64_t));
  uint64_t bits = 0;
  __builtin_memcpy(&bits, &value, sizeof(T));
  bits = meetAtShuffle(bits, lane, lanes, site);
  __builtin_memcpy(&value, &bits, sizeof(T));
  return value;
}
inline int laneOfThread() { return static_cast<int>(threadIdx.x) % warpSize; }

} // namespace shardc::testing

inline void __syncthreads(
    const shardc::testing::CallSite &site = std::source_location::current()) {
  shardc::testing::meetAtBarrier(site);
}
inline void __syncwarp(
    unsigned lanes = ~0u,
    const shardc::testing::CallSite &site = std::source_location::current()) {
  shardc::testing::shuffle(0, shardc::testing::laneOfThread(), lanes, site);
}
template <typename T>
T __shfl_xor_sync(
    unsigned lanes, T value, int mask,
    const shardc::testing::CallSite &site = std::source_location::current()) {
  return shardc::testing::shuffle(value, shardc::testing::laneOfThread() ^ mask,
                                  lanes, site);
}
template <typename T>
T __shfl_sync(
    unsigned lanes, T value, int lane,
    const shardc::testing::CallSite &site = std::source_location::current()) {
  return shardc::testing::shuffle(value, lane, lanes, site);
}

// One thread runs at a time; the accesses in here are looked at as one.
#define SHARDC_ATOMIC [[gnu::noinline, gnu::no_sanitize("thread")]]
template <typename T> SHARDC_ATOMIC T atomicCAS(T *at, T expected, T value) {
  using namespace shardc::testing;
  noteAccess(at, sizeof(T), Access::Atomic);
  const T was = *at;
  if (was == expected)
    *at = value;
  return was;
}
template <typename T> SHARDC_ATOMIC T atomicAdd(T *at, T value) {
  using namespace shardc::testing;
  noteAccess(at, sizeof(T), Access::Atomic);
  const T was = *at;
  *at = was + value;
  return was;
}
template <typename T> SHARDC_ATOMIC T atomicMax(T *at, T value) {
  using namespace shardc::testing;
  noteAccess(at, sizeof(T), Access::Atomic);
  const T was = *at;
  *at = was < value ? value : was;
  return was;
}
#undef SHARDC_ATOMIC

namespace shardc::runtime::cuda {

template <typename... Parameters, typename... Arguments>
Status launch(void (*kernel)(Parameters...), const Grid &grid,
              cudaStream_t stream, Arguments... arguments) {
  // More than that only newer GPUs take, and drivers.
  static_assert(sizeof(std::tuple<Parameters...>) <= 4096,
                "too large parameters of a kernel");
  if (!testing::isSimulatedGrid(grid.blocks, grid.threads, grid.sharedBytes,
                                testing::kSimulatedShared))
    return cudaStatus(cudaErrorInvalidConfiguration, "kernel launch");
  if (grid.threads >
      testing::mostThreadsOf(reinterpret_cast<const void *>(kernel)))
    return cudaStatus(cudaErrorLaunchOutOfResources, "kernel launch");
  std::tuple<Parameters...> given(
      testing::onSimulatedGpu(static_cast<Parameters>(arguments))...);
  return cudaStatus(
      testing::enqueueSimulated(stream,
                                [=] {
                                  testing::simulateLaunch(
                                      grid, [&] { std::apply(kernel, given); });
                                }),
      "kernel launch");
}

inline std::byte *sharedMemory() { return testing::simulatedSharedMemory(); }

} // namespace shardc::runtime::cuda

#endif // SHARDC_TESTS_CONFORMANCE_CUDA_SIMULATEDLAUNCH_H
