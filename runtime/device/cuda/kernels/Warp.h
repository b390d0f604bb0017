//===- Warp.h - What the threads of a warp or block have together ---------===//
#ifndef SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_WARP_H
#define SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_WARP_H

#include "runtime/device/cuda/kernels/Launch.h"

namespace shardc::runtime::cuda {

inline constexpr int kWarp = 32;
inline constexpr unsigned kAllLanes = 0xffffffffu;

inline __device__ int laneOfWarp() { return int(threadIdx.x) % kWarp; }
inline __device__ int warpOfBlock() { return int(threadIdx.x) / kWarp; }

/// All lanes get combine(of all values), in an order that is always the same.
template <typename T, typename Combine>
__device__ T reduceWarp(T value, Combine combine) {
  for (int mask = kWarp / 2; mask > 0; mask /= 2)
    value = combine(value, __shfl_xor_sync(kAllLanes, value, mask));
  return value;
}

/// NaN if one is.
template <typename T> __device__ T maximumOfWarp(T value) {
  return reduceWarp(value, [](T a, T b) { return a > b || a != a ? a : b; });
}
template <typename T> __device__ T sumOfWarp(T value) {
  return reduceWarp(value, [](T a, T b) { return a + b; });
}

/// The same for all threads of a block, whole warps, through shared memory for
/// all threads' values, which may be of any type. In an order that is always
/// the same: each lane of the first warp takes those of all warps, then all
/// threads take those of the lanes.
template <typename T, typename Merge>
__device__ T reduceBlock(T value, Merge merge) {
  T *values = reinterpret_cast<T *>(sharedMemory());
  __syncthreads(); // what was there before has been read
  values[threadIdx.x] = value;
  __syncthreads();
  if (threadIdx.x < kWarp)
    for (unsigned i = threadIdx.x + kWarp; i < blockDim.x; i += kWarp)
      values[threadIdx.x] = merge(values[threadIdx.x], values[i]);
  __syncthreads();
  T result = values[0];
  for (int lane = 1; lane < kWarp; ++lane)
    result = merge(result, values[lane]);
  return result;
}

/// A block a row, with room for reduceBlock of T.
template <typename T> Grid blockPerRow(int64_t rows, int64_t rowSize) {
  constexpr int64_t kMost = 1 << 20;
  const int64_t warps =
      std::clamp<int64_t>((rowSize + kWarp - 1) / kWarp, 1, kThreads / kWarp);
  const auto threads = static_cast<unsigned>(warps * kWarp);
  return {dim3(static_cast<unsigned>(std::min(rows, kMost))), threads,
          threads * sizeof(T), true};
}

} // namespace shardc::runtime::cuda

#endif // SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_WARP_H
