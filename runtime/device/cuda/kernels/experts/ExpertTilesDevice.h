//===- ExpertTilesDevice.h - Tiles of pairs and weights of experts --------===//
#ifndef SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_EXPERTS_EXPERTTILESDEVICE_H
#define SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_EXPERTS_EXPERTTILESDEVICE_H

#include "runtime/device/cuda/kernels/experts/Experts.h"

namespace shardc::runtime::cuda {

/// What tiles are multiplied by, and where that goes.
struct TileProduct {
  ExpertOrder order;
  ExpertRows rows;
  ExpertMatrix matrix;
  ExpertBias bias;
  int64_t experts; ///< that are here
  std::byte *sums; ///< [pairs, n]
};

/// A block a tile and so many columns.
inline dim3 tileBlocks(const TileProduct &p, int64_t pairs, int64_t columns) {
  return dim3(
      static_cast<unsigned>(pairs / p.order.tileRows +
                            std::min(p.experts, pairs)),
      static_cast<unsigned>((p.matrix.columns + columns - 1) / columns));
}

/// The last expert whose tiles begin at this one or before.
inline __device__ int64_t expertOfTile(const ExpertOrder &order,
                                       int64_t experts, int64_t tile) {
  int64_t low = 0, high = experts;
  while (high - low > 1) {
    const int64_t middle = (low + high) / 2;
    if (order.tiles[middle] <= tile)
      low = middle;
    else
      high = middle;
  }
  return low;
}

/// The rows of a block, in shared memory: a tile, or part of one.
template <int kRows> struct TilePairs {
  int64_t rowAt[kRows]; ///< offset of a row's first element
  int32_t pairs[kRows]; ///< negative: none

  /// Which expert's they are; negative: there are none. All threads come; a
  /// barrier has to follow.
  __device__ int64_t take(const TileProduct &p, int64_t tile, int64_t part) {
    const ExpertOrder &order = p.order;
    if (tile >= order.tiles[p.experts])
      return -1;
    const int64_t e = expertOfTile(order, p.experts, tile);
    const int64_t begin = order.starts[e] +
                          (tile - order.tiles[e]) * order.tileRows +
                          part * kRows;
    if (begin >= order.starts[e + 1])
      return -1;
    for (int r = threadIdx.x; r < kRows; r += kThreads) {
      const int64_t at = begin + r;
      const int32_t pair = at < order.starts[e + 1] ? order.pairs[at] : -1;
      pairs[r] = pair;
      rowAt[r] = pair < 0 ? 0 : pair / p.rows.pairsOfRow * p.rows.strides[0];
    }
    return e;
  }
};

/// What the integers of a column are multiplied by, and what is subtracted
/// before.
template <typename T> class WeightScales {
  using C = host::Compute<T>;

public:
  WeightScales() = default;
  __device__ WeightScales(const ExpertMatrix &m, int64_t e, int64_t column) {
    const int64_t block =
        m.axis == 1 ? 0 : m.blocks.blockOf(m.axis == 0 ? e : column);
    scaleAt =
        e * m.scaleAt[0] + column * m.scaleAt[2] + block * m.blocks.scaleStride;
    zeroAt =
        e * m.zeroAt[0] + column * m.zeroAt[2] + block * m.blocks.zeroStride;
  }
  /// Of a block along k.
  __device__ C scale(const ExpertMatrix &m, int64_t block) const {
    return C(reinterpret_cast<const T *>(
        m.scale)[scaleAt + block * m.blocks.scaleStride]);
  }
  template <typename Number>
  __device__ C difference(const ExpertMatrix &m, int64_t block,
                          Number x) const {
    const int64_t at = zeroAt + block * m.blocks.zeroStride;
    return !m.hasZeros ? C(x)
           : m.zeroNumbers
               ? C(x) - C(reinterpret_cast<const T *>(m.zeroNumbers)[at])
               : C(x - static_cast<Number>(m.zeros[at]));
  }
  /// On along a dim that has no blocks.
  __device__ void move(const ExpertMatrix &m, int dim, int64_t by) {
    scaleAt += by * m.scaleAt[dim];
    zeroAt += by * m.zeroAt[dim];
  }

private:
  int64_t scaleAt = 0, zeroAt = 0;
};

/// Any weight, as a number that T holds.
template <typename T>
__device__ T weightAt(const ExpertMatrix &m, int64_t e, int64_t k,
                      int64_t column) {
  const int64_t at = e * m.data[0] + k * m.data[1] + column * m.data[2];
  if (m.numbers)
    return reinterpret_cast<const T *>(m.numbers)[at];
  using C = host::Compute<T>;
  WeightScales<T> scales(m, e, column);
  scales.move(m, 1, k);
  const int64_t block = m.axis == 1 ? m.blocks.blockOf(k) : 0;
  const C difference =
      m.isFloat8
          ? scales.difference(
                m, block, m.decode(static_cast<uint8_t>(m.integers.data[at])))
          : scales.difference(m, block, m.integers[at]);
  return T(difference * scales.scale(m, block));
}

template <typename T>
__device__ host::Compute<T> biasAt(const ExpertBias &bias, int64_t e,
                                   int64_t column) {
  using C = host::Compute<T>;
  return bias.data
             ? C(reinterpret_cast<const T *>(
                   bias.data)[e * bias.strides[0] + column * bias.strides[1]])
             : C(0);
}

/// As multiplyTiles, of halves.
template <typename T>
Status multiplyOnCores(const TileProduct &p, int64_t pairs,
                       cudaStream_t stream);

} // namespace shardc::runtime::cuda

#endif // SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_EXPERTS_EXPERTTILESDEVICE_H
