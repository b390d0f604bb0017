//===- ExpertSlices.h - What tensor cores multiply, slice by slice --------===//
//
// How the slices of ExpertTensorCores.cu lie in shared memory, and how the
// threads of a block share what is to be copied there.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_EXPERTS_EXPERTSLICES_H
#define SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_EXPERTS_EXPERTSLICES_H

#include "runtime/device/cuda/kernels/Warp.h"
#include "runtime/device/cuda/kernels/experts/ExpertTilesDevice.h"
#include "runtime/device/cuda/kernels/product/TensorCores.h"
#include "runtime/device/cuda/kernels/quant/PackedIntegers.h"

namespace shardc::runtime::cuda::expert {

/// Of a block's tile, and of a slice along k.
inline constexpr int kColumns = 128, kDepth = 32;
/// Lines 16 bytes longer than what they hold: 8 of them, from which a warp
/// loads at once, are in other banks.
inline constexpr int kGap = 8;
inline constexpr int kColumnWarps = 4,
                     kRowWarps = kThreads / kWarp / kColumnWarps;
inline constexpr int kWarpColumns = kColumns / kColumnWarps;
inline constexpr int kColumnCores = kWarpColumns / kCore;
inline constexpr int kPieceStride = kWarpColumns + 4;

/// How weights come to shared memory: as copies, lying column by column or row
/// by row, from runs of integers or eight bits of float, or one by one, as rows
/// do then, too.
enum class WeightLoads { Columns, Rows, Integers, Float8s, Elements };

/// Whether they become numbers on their way.
inline constexpr bool areQuantized(WeightLoads loads) {
  return loads == WeightLoads::Integers || loads == WeightLoads::Float8s;
}

template <typename T, int kRows, WeightLoads kLoads> struct CoreMemory {
  static constexpr bool kIsByColumns = kLoads != WeightLoads::Rows;
  static constexpr int kLines = kIsByColumns ? kColumns : kDepth;
  static constexpr int kLength = kIsByColumns ? kDepth : kColumns;

  struct Slice {
    T rows[kRows][kDepth + kGap];
    T weights[kLines][kLength + kGap];
  };
  union {
    Slice slices[2];
    float pieces[kThreads / kWarp][kCore][kPieceStride]; ///< in the end
  };
  TilePairs<kRows> tile;
};

/// The runs of 8 that this thread has of lines.
template <int kLines, int kLength> struct ThreadRuns {
  static constexpr int kRuns = kLength / kPackedRun; ///< of a line
  static constexpr int kApart = kThreads / kRuns;    ///< lines
  static constexpr int kCount = kLines / kApart;
  static_assert(kThreads % kRuns == 0 && kLines % kApart == 0);

  const int line = int(threadIdx.x) / kRuns;
  const int place = int(threadIdx.x) % kRuns * kPackedRun;
};

/// Of the slices, those that have element `place` along k.
inline __device__ int slicesWith(int64_t k, int place) {
  return k > place ? static_cast<int>((k - place + kDepth - 1) / kDepth) : 0;
}

/// What a thread copies of each slice in turn: all that can be computed is
/// before, since what is done for each slice takes the time of products.
template <typename T, int kCount> struct RunCopies {
  const T *from[kCount];
  int slices[kCount]; ///< from there on come zeros

  __device__ void copy(T *to, int apart, int slice, int64_t step) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      copyAside(to + i * apart, from[i], slice < slices[i]);
      from[i] += step;
    }
  }
};

} // namespace shardc::runtime::cuda::expert

#endif // SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_EXPERTS_EXPERTSLICES_H
