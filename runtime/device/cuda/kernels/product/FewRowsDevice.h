//===- FewRowsDevice.h - A few rows times a matrix of weights -------------===//
//
// A step of decoding multiplies few rows [m, k] by weights [k, n]: what takes
// time is to read the weights, once. They become numbers in registers and are
// summed in f32, eight along k at a time:
//
//   weights that lie column by column ([n, k] in memory): a warp has 4 columns,
//     a lane 16 bytes of each of them, and the lanes are summed in the end
//   weights that lie row by row: a lane has 4 columns, a warp 8 rows of them at
//     a time, and the warps of a block are summed in the end
//
// Where there are too few columns for all of a GPU, k is split as well, and a
// second kernel adds up the splits, in order: the same bits each time.
//
// What a matrix must be for this is said by readFewRows.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_PRODUCT_FEWROWSDEVICE_H
#define SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_PRODUCT_FEWROWSDEVICE_H

#include "runtime/device/cuda/kernels/Warp.h"
#include "runtime/device/cuda/kernels/product/FewRows.h"
#include "runtime/device/cuda/kernels/quant/PackedIntegers.h"

namespace shardc::runtime::cuda {

inline constexpr int kFewWarps = kThreads / kWarp;
/// Of a warp where they lie column by column, of a lane where row by row.
inline constexpr int kFewColumns = 4;

/// An integer from 0 to 255 as a float that is 2^23 more: no conversion.
inline constexpr float kShift = 8388608.f;
inline __device__ float shifted(uint32_t bits) {
  return __builtin_bit_cast(float, bits | 0x4b000000u);
}

/// Of an operand that is read once for many weights, so that its type need not
/// make another kernel: halves or floats.
inline __device__ float floatAt(const std::byte *data,
                                artifact::ElementType element, int64_t index) {
  switch (element) {
  case artifact::ElementType_Float16:
    return reinterpret_cast<const host::Float16 *>(data)[index];
  case artifact::ElementType_BFloat16:
    return reinterpret_cast<const host::BFloat16 *>(data)[index];
  default:
    return reinterpret_cast<const float *>(data)[index];
  }
}

/// How weights of a format are stored; `Load` is what a lane loads at once.
struct HalvesOfBytes {
  struct alignas(16) Load {
    uint32_t words[4];
  };
  using Four = uint16_t;
  static constexpr int kElements = 32;
  static constexpr bool isScaled = true;

  /// Group `g` of eight.
  static __device__ void unpack(const Load &load, int g, bool isSigned,
                                float (&values)[kPackedRun]) {
    const uint32_t word = load.words[g] ^ (isSigned ? 0x88888888u : 0u);
#pragma unroll
    for (int i = 0; i < kPackedRun; ++i)
      values[i] = shifted(word >> (4 * i) & 15);
  }
  static __device__ void unpackFour(Four four, bool isSigned,
                                    float (&values)[kFewColumns]) {
    const uint32_t word = four ^ (isSigned ? 0x8888u : 0u);
#pragma unroll
    for (int i = 0; i < kFewColumns; ++i)
      values[i] = shifted(word >> (4 * i) & 15);
  }
  /// What a zero point of 0 has become.
  static __device__ float zero(bool isSigned) {
    return kShift + (isSigned ? 8.f : 0.f);
  }
  static __device__ const std::byte *at(const std::byte *data, int64_t index) {
    return data + index / 2;
  }
};

struct Bytes {
  struct alignas(16) Load {
    uint32_t words[4];
  };
  using Four = uint32_t;
  static constexpr int kElements = 16;
  static constexpr bool isScaled = true;

  static __device__ void unpack(const Load &load, int g, bool isSigned,
                                float (&values)[kPackedRun]) {
#pragma unroll
    for (int i = 0; i < kPackedRun; ++i)
      values[i] =
          shifted((load.words[2 * g + i / 4] ^ (isSigned ? 0x80808080u : 0u)) >>
                      (8 * (i % 4)) &
                  255);
  }
  static __device__ void unpackFour(Four four, bool isSigned,
                                    float (&values)[kFewColumns]) {
    const uint32_t word = four ^ (isSigned ? 0x80808080u : 0u);
#pragma unroll
    for (int i = 0; i < kFewColumns; ++i)
      values[i] = shifted(word >> (8 * i) & 255);
  }
  static __device__ float zero(bool isSigned) {
    return kShift + (isSigned ? 128.f : 0.f);
  }
  static __device__ const std::byte *at(const std::byte *data, int64_t index) {
    return data + index;
  }
};

/// Eight bits of float, without zero points.
template <artifact::ElementType kElement> struct Float8Bytes {
  using Load = Bytes::Load;
  using Four = uint32_t;
  static constexpr int kElements = 16;
  static constexpr bool isScaled = true;

  static __device__ float decode(uint32_t word, int i) {
    constexpr Float8Decoder decoder(kElement == artifact::ElementType_Float8E5M2
                                        ? kFloat8E5M2
                                        : kFloat8E4M3FN);
    return decoder(static_cast<uint8_t>(word >> (8 * i)));
  }
  static __device__ void unpack(const Load &load, int g, bool,
                                float (&values)[kPackedRun]) {
#pragma unroll
    for (int i = 0; i < kPackedRun; ++i)
      values[i] = decode(load.words[2 * g + i / 4], i % 4);
  }
  static __device__ void unpackFour(Four four, bool,
                                    float (&values)[kFewColumns]) {
#pragma unroll
    for (int i = 0; i < kFewColumns; ++i)
      values[i] = decode(four, i);
  }
  static __device__ float zero(bool) { return 0; }
  static __device__ const std::byte *at(const std::byte *data, int64_t index) {
    return data + index;
  }
};

/// Numbers as they are.
template <typename T> struct Numbers {
  using Load = PackedRun<T>;
  struct alignas(sizeof(T) * kFewColumns) Four {
    T values[kFewColumns];
  };
  static constexpr int kElements = kPackedRun;
  static constexpr bool isScaled = false;

  static __device__ void unpack(const Load &load, int, bool,
                                float (&values)[kPackedRun]) {
#pragma unroll
    for (int i = 0; i < kPackedRun; ++i)
      values[i] = load.values[i];
  }
  static __device__ void unpackFour(const Four &four, bool,
                                    float (&values)[kFewColumns]) {
#pragma unroll
    for (int i = 0; i < kFewColumns; ++i)
      values[i] = four.values[i];
  }
  static __device__ float zero(bool) { return 0; }
  static __device__ const std::byte *at(const std::byte *data, int64_t index) {
    return data + index * static_cast<int64_t>(sizeof(T));
  }
};

/// Scales and zero points of one matrix.
template <typename Format> class FewScales {
public:
  __device__ FewScales(const FewMatrix &m, int64_t scaleFirst,
                       int64_t zeroFirst)
      : m(m), scaleFirst(scaleFirst), zeroFirst(zeroFirst) {}

  /// Of a block and column: the factor, and what to subtract before.
  __device__ void get(int64_t block, int64_t column, float &scale,
                      float &zero) const {
    scale = 1;
    zero = Format::zero(m.isSigned);
    if constexpr (Format::isScaled) {
      const int64_t at =
          scaleFirst + block * m.blocks.scaleStride + column * m.scaleColumn;
      scale = floatAt(m.scale, m.scaleElement, at);
      if (m.hasZeros)
        zero +=
            static_cast<float>(m.zeros[zeroFirst + block * m.blocks.zeroStride +
                                       column * m.zeroColumn]);
    }
  }

private:
  const FewMatrix &m;
  int64_t scaleFirst, zeroFirst;
};

/// Eight of row r of the operand that is multiplied.
template <typename X>
__device__ void loadRow(const FewRows &rows, int r, int64_t k,
                        float (&values)[kPackedRun]) {
  const auto run = *reinterpret_cast<const PackedRun<X> *>(
      reinterpret_cast<const X *>(rows.x) + rows.xAt[r] + k);
#pragma unroll
  for (int i = 0; i < kPackedRun; ++i)
    values[i] = run.values[i];
}

/// What a launch multiplies: a matrix out of several, and a part of k.
struct FewPart {
  int64_t data, scale, zero; ///< offsets of the matrix, in elements
  int64_t column;            ///< first of the warp, or of the block
  int64_t begin, end;        ///< of k: groups of what a lane loads, or of 8
};

/// Of 4 columns that lie one after the other; all lanes get the sums.
template <typename X, typename Format, int kRows>
__device__ void sumColumns(const FewMatrix &m, const FewRows &rows,
                           const FewPart &part,
                           float (&sums)[kRows][kFewColumns]) {
  const FewScales<Format> scales(m, part.scale, part.zero);
  const std::byte *columns[kFewColumns];
  int64_t numbers[kFewColumns];
#pragma unroll
  for (int c = 0; c < kFewColumns; ++c) {
    // Those behind the last one are it once more, and are not stored.
    numbers[c] = part.column + c < m.columns ? part.column + c : m.columns - 1;
    columns[c] = Format::at(m.data, part.data + numbers[c] * m.line);
    for (int r = 0; r < kRows; ++r)
      sums[r][c] = 0;
  }
  // One row waits for memory, several are enough to do meanwhile.
#pragma unroll(kRows == 1 ? 2 : 1)
  for (int64_t i = part.begin + laneOfWarp(); i < part.end; i += kWarp) {
    const int64_t k = i * Format::kElements;
    typename Format::Load loads[kFewColumns];
#pragma unroll
    for (int c = 0; c < kFewColumns; ++c)
      loads[c] = *reinterpret_cast<const typename Format::Load *>(
          Format::at(columns[c], k));
    float scale[kFewColumns] = {}, zero[kFewColumns] = {};
#pragma unroll
    for (int g = 0; g < Format::kElements / kPackedRun; ++g) {
      if (g == 0 || m.splitsLoads) {
        const int64_t block = m.blocks.blockOf(k + g * kPackedRun);
#pragma unroll
        for (int c = 0; c < kFewColumns; ++c)
          scales.get(block, numbers[c], scale[c], zero[c]);
      }
      float weights[kFewColumns][kPackedRun];
#pragma unroll
      for (int c = 0; c < kFewColumns; ++c) {
        Format::unpack(loads[c], g, m.isSigned, weights[c]);
#pragma unroll
        for (int j = 0; j < kPackedRun; ++j)
          weights[c][j] -= zero[c];
      }
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        if (kRows > 1 && r >= rows.count)
          break;
        float x[kPackedRun];
        loadRow<X>(rows, r, k + g * kPackedRun, x);
#pragma unroll
        for (int c = 0; c < kFewColumns; ++c) {
          float sum = 0;
#pragma unroll
          for (int j = 0; j < kPackedRun; ++j)
            sum += weights[c][j] * x[j];
          sums[r][c] += scale[c] * sum;
        }
      }
    }
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r)
#pragma unroll
    for (int c = 0; c < kFewColumns; ++c)
      sums[r][c] = sumOfWarp(sums[r][c]);
}

/// Of the 4 columns of each lane, over what the block has of k, as all of its
/// warps together; through shared memory for [warps][rows][128] floats. Thread
/// t gets those of column t % 128 for rows t / 128, t / 128 + 2, ...
template <typename X, typename Format, int kRows, typename Store>
__device__ void sumRows(const FewMatrix &m, const FewRows &rows,
                        const FewPart &part, Store store) {
  constexpr int kWidth = kFewColumns * kWarp;
  const FewScales<Format> scales(m, part.scale, part.zero);
  const int64_t column = part.column + laneOfWarp() * kFewColumns;
  const bool exists = column < m.columns; // all four or none
  float sums[kRows][kFewColumns] = {};
  for (int64_t i = part.begin + warpOfBlock(); exists && i < part.end;
       i += kFewWarps) {
    const int64_t k = i * kPackedRun;
    typename Format::Four fours[kPackedRun];
#pragma unroll
    for (int j = 0; j < kPackedRun; ++j)
      fours[j] = *reinterpret_cast<const typename Format::Four *>(
          Format::at(m.data, part.data + (k + j) * m.line + column));
    float scale[kFewColumns], zero[kFewColumns];
    const int64_t block = m.blocks.blockOf(k);
#pragma unroll
    for (int c = 0; c < kFewColumns; ++c)
      scales.get(block, column + c, scale[c], zero[c]);
    float weights[kPackedRun][kFewColumns];
#pragma unroll
    for (int j = 0; j < kPackedRun; ++j) {
      Format::unpackFour(fours[j], m.isSigned, weights[j]);
#pragma unroll
      for (int c = 0; c < kFewColumns; ++c)
        weights[j][c] -= zero[c];
    }
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if (kRows > 1 && r >= rows.count)
        break;
      float x[kPackedRun];
      loadRow<X>(rows, r, k, x);
#pragma unroll
      for (int c = 0; c < kFewColumns; ++c) {
        float sum = 0;
#pragma unroll
        for (int j = 0; j < kPackedRun; ++j)
          sum += weights[j][c] * x[j];
        sums[r][c] += scale[c] * sum;
      }
    }
  }
  auto *shared = reinterpret_cast<float *>(sharedMemory());
#pragma unroll
  for (int r = 0; r < kRows; ++r)
#pragma unroll
    for (int c = 0; c < kFewColumns; ++c)
      shared[(warpOfBlock() * kRows + r) * kWidth + laneOfWarp() * kFewColumns +
             c] = sums[r][c];
  __syncthreads();
  for (int e = static_cast<int>(threadIdx.x); e < rows.count * kWidth;
       e += kThreads) {
    float sum = 0;
    for (int w = 0; w < kFewWarps; ++w)
      sum += shared[w * kRows * kWidth + e];
    if (part.column + e % kWidth < m.columns)
      store(e / kWidth, part.column + e % kWidth, sum);
  }
}

} // namespace shardc::runtime::cuda

#endif // SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_PRODUCT_FEWROWSDEVICE_H
