//===- Launch.h - Kernels written in CUDA C++ -----------------------------===//
//
//   __global__ void addKernel(float *to, const float *x, Nest<2> nest);
//   SHARDC_RETURN_IF_ERROR(
//       launch(addKernel, {blocksFor(nest.count), kThreads}, stream,
//              to, x, nest));
//
// A kernel names nothing of CUDA that is not here, in cuda_fp16.h or in
// cuda_bf16.h: what includes this is compiled by nvcc, and for tests by the
// host's compiler, where a launch is a loop over its threads.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_LAUNCH_H
#define SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_LAUNCH_H

#include "runtime/device/cuda/CudaStatus.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace shardc::runtime::cuda {

/// Threads of a block, where nothing else asks for another number.
inline constexpr int kThreads = 256;

struct Grid {
  dim3 blocks;
  unsigned threads = kThreads; ///< of a block
  size_t sharedBytes = 0;
  /// Threads of a block wait for each other: a barrier, a shuffle.
  bool threadsMeet = false;
};

/// Blocks for so many threads: enough to fill any GPU; threads go on from
/// there.
inline unsigned blocksFor(int64_t count) {
  constexpr int64_t kMost = 4096;
  return static_cast<unsigned>(
      std::clamp<int64_t>((count + kThreads - 1) / kThreads, 1, kMost));
}

#ifdef __CUDACC__
template <typename... Parameters, typename... Arguments>
Status launch(void (*kernel)(Parameters...), const Grid &grid,
              cudaStream_t stream, Arguments... arguments) {
  kernel<<<grid.blocks, grid.threads, grid.sharedBytes, stream>>>(
      static_cast<Parameters>(arguments)...);
  return cudaStatus(cudaGetLastError(), "kernel launch");
}

/// What a block's threads share, as many bytes as the launch asked for, aligned
/// to 32.
inline __device__ std::byte *sharedMemory() {
  extern __shared__ __align__(32) std::byte memory[];
  return memory;
}
#else
} // namespace shardc::runtime::cuda
#include "tests/conformance/cuda/SimulatedLaunch.h"
namespace shardc::runtime::cuda {
#endif

/// This thread's first element where one takes each, and how many there are.
inline __device__ int64_t firstElement() {
  return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
inline __device__ int64_t allThreads() {
  return static_cast<int64_t>(gridDim.x) * blockDim.x;
}

} // namespace shardc::runtime::cuda

#endif // SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_LAUNCH_H
