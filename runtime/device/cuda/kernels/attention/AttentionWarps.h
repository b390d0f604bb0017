//===- AttentionWarps.h - Few rows of attention, keys split over warps ----===//
//
// A warp takes 32 keys at a time: a lane has one of them and multiplies it by
// all rows of the block, then some columns of the values. In the end the warps
// put together what they have seen.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_ATTENTION_ATTENTIONWARPS_H
#define SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_ATTENTION_ATTENTIONWARPS_H

#include "runtime/device/cuda/kernels/attention/AttentionDevice.h"

namespace shardc::runtime::cuda {

inline constexpr int kWarpsOfFew = 8, kRowsOfFew = 8;
inline constexpr int kColumnsOfLane = 4;
static_assert(kColumnsOfLane * kWarp == kAttentionColumns);

/// How much of a head's depth is in shared memory at a time.
template <typename A> inline constexpr int kDepthOfFew = 128 / sizeof(A);

/// Of one warp.
template <typename A> struct WarpMemory {
  A queries[kRowsOfFew][kDepthOfFew<A>];
  A keys[kWarp][kDepthOfFew<A> + 1];
};

/// What a warp hands to another one.
template <typename A> struct WarpResult {
  A values[kRowsOfFew][kAttentionColumns];
  A maximum[kRowsOfFew], sum[kRowsOfFew];
};

/// What a warp has seen of all rows: its lanes have the columns.
template <typename A> struct SeenRows {
  A sums[kRowsOfFew][kColumnsOfLane];
  SeenStats<A> stats[kRowsOfFew];

  __device__ SeenRows() {
    for (auto &row : sums)
      for (A &value : row)
        value = 0;
  }

  /// Adds the products of what is in memory.
  __device__ static void multiply(const WarpMemory<A> &memory, int rows,
                                  A (&products)[kRowsOfFew]) {
#pragma unroll 4
    for (int d = 0; d < kDepthOfFew<A>; ++d) {
      const A factor = memory.keys[laneOfWarp()][d];
#pragma unroll
      for (int r = 0; r < kRowsOfFew; ++r)
        if (r < rows)
          products[r] += memory.queries[r][d] * factor;
    }
  }

  /// The weight of the lane's key for row r, if that sees it.
  __device__ A weigh(int r, bool sees, A score) {
    constexpr A infinity = std::numeric_limits<A>::infinity();
    const A factor = stats[r].raise(maximumOfWarp(sees ? score : -infinity));
    const A weight = sees ? stats[r].weigh(score) : A(0);
    stats[r].sum += sumOfWarp(weight);
    for (A &value : sums[r])
      value *= factor;
    return weight;
  }

  /// Adds the values of the key that lane c has: valueOf(j) of the lane's j-th
  /// column.
  template <typename ValueOf>
  __device__ void add(const A (&weights)[kRowsOfFew], int rows, int c,
                      ValueOf valueOf) {
    for (int j = 0; j < kColumnsOfLane; ++j) {
      const A value = valueOf(j);
#pragma unroll
      for (int r = 0; r < kRowsOfFew; ++r)
        if (r < rows)
          sums[r][j] += __shfl_sync(kAllLanes, weights[r], c) * value;
    }
  }

  /// Warp 0 gets what all have seen: 4 to 7 hand theirs to 0 to 3, and so on.
  __device__ void mergeWarps(WarpResult<A> *results) {
    const int warp = warpOfBlock();
    for (int half = kWarpsOfFew / 2; half > 0; half /= 2) {
      __syncthreads();
      if (warp >= half && warp < 2 * half)
        give(results[warp - half]);
      __syncthreads();
      if (warp < half)
        take(results[warp]);
    }
  }

private:
  __device__ void give(WarpResult<A> &to) const {
#pragma unroll
    for (int r = 0; r < kRowsOfFew; ++r) {
      for (int j = 0; j < kColumnsOfLane; ++j)
        to.values[r][laneOfWarp() + j * kWarp] = sums[r][j];
      if (laneOfWarp() == 0) { // all lanes have the same
        to.maximum[r] = stats[r].maximum;
        to.sum[r] = stats[r].sum;
      }
    }
  }
  __device__ void take(const WarpResult<A> &from) {
#pragma unroll
    for (int r = 0; r < kRowsOfFew; ++r)
      addState(stats[r], sums[r], from.maximum[r], from.sum[r],
               [&](int j) { return from.values[r][laneOfWarp() + j * kWarp]; });
  }
};

} // namespace shardc::runtime::cuda

#endif // SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_ATTENTION_ATTENTIONWARPS_H
