//===- PackedIntegers.h - Eight small integers at a time ------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_QUANT_PACKEDINTEGERS_H
#define SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_QUANT_PACKEDINTEGERS_H

#include "runtime/device/cuda/kernels/Launch.h"

namespace shardc::runtime::cuda {

inline constexpr int kPackedRun = 8;

/// Halves of 4 bytes, the lower one first.
inline __device__ void unpackHalves(uint32_t word, bool isSigned,
                                    int (&values)[kPackedRun]) {
#pragma unroll
  for (int i = 0; i < kPackedRun; ++i) {
    const int bits = static_cast<int>(word >> (4 * i)) & 15;
    values[i] = isSigned ? (bits ^ 8) - 8 : bits;
  }
}

inline __device__ void unpackBytes(uint2 words, bool isSigned,
                                   int (&values)[kPackedRun]) {
#pragma unroll
  for (int i = 0; i < kPackedRun; ++i) {
    const uint32_t word = i < 4 ? words.x : words.y;
    const int bits = static_cast<int>(word >> (8 * (i % 4))) & 255;
    values[i] = isSigned ? (bits ^ 128) - 128 : bits;
  }
}

/// From addresses that are multiples of what is read.
inline __device__ void unpackHalves(const std::byte *from, bool isSigned,
                                    int (&values)[kPackedRun]) {
  unpackHalves(*reinterpret_cast<const uint32_t *>(from), isSigned, values);
}
inline __device__ void unpackBytes(const std::byte *from, bool isSigned,
                                   int (&values)[kPackedRun]) {
  unpackBytes(*reinterpret_cast<const uint2 *>(from), isSigned, values);
}

/// Eight numbers, which are loaded and stored by 16 bytes at a time.
template <typename T>
struct alignas(sizeof(T) * kPackedRun < 16 ? sizeof(T) * kPackedRun : 16)
    PackedRun {
  T values[kPackedRun];
};

} // namespace shardc::runtime::cuda

#endif // SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_QUANT_PACKEDINTEGERS_H
