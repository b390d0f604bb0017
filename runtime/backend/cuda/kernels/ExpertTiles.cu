//===- ExpertTiles.cu - Products of experts, a tile of rows at a time -----===//
//
// A block has 64 pairs of one expert and 64 columns; a thread 4 of each. What
// is summed comes to shared memory 16 at a time, as numbers.
//
//===----------------------------------------------------------------------===//
#include "runtime/backend/cuda/kernels/Experts.h"

namespace shardc::runtime::cuda {
namespace {

constexpr int kRows = kExpertTileRows, kColumns = 64, kDepth = 16;
constexpr int kOfThread = 4;
static_assert(kRows * kColumns == kThreads * kOfThread * kOfThread);

template <typename T>
using Sum = std::conditional_t<std::is_same_v<T, double>, double, float>;

template <typename T> struct ExpertTile {
  Sum<T> rows[kDepth][kRows + kOfThread];
  Sum<T> weights[kDepth][kColumns + kOfThread];
  int64_t rowAt[kRows];
  int32_t pairs[kRows];
};

template <typename T>
__device__ Sum<T> weightAt(const ExpertMatrix &m, int64_t e, int64_t k,
                           int64_t column) {
  const int64_t at = e * m.data[0] + k * m.data[1] + column * m.data[2];
  if (m.numbers)
    return Sum<T>(reinterpret_cast<const T *>(m.numbers)[at]);
  const int64_t block = m.blocks.blockOf(m.axis == 0   ? e
                                         : m.axis == 1 ? k
                                                       : column);
  const int64_t scaleAt = e * m.scaleAt[0] + k * m.scaleAt[1] +
                          column * m.scaleAt[2] + block * m.blocks.scaleStride;
  const int64_t zeroAt = e * m.zeroAt[0] + k * m.zeroAt[1] +
                         column * m.zeroAt[2] + block * m.blocks.zeroStride;
  const int64_t x = m.integers[at];
  const Sum<T> difference =
      !m.hasZeros ? Sum<T>(x)
      : m.zeroNumbers
          ? Sum<T>(x) -
                Sum<T>(reinterpret_cast<const T *>(m.zeroNumbers)[zeroAt])
          : Sum<T>(x - m.zeros[zeroAt]);
  // Rounded as a tensor of such numbers would be.
  return Sum<T>(
      T(difference * Sum<T>(reinterpret_cast<const T *>(m.scale)[scaleAt])));
}

/// The last expert whose tiles begin at this one or before.
__device__ int64_t expertOfTile(const ExpertOrder &order, int64_t experts,
                                int64_t tile) {
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

template <typename T, typename X>
__global__ void tilesKernel(Sum<T> *sums, ExpertOrder order,
                            const __grid_constant__ ExpertRows rows,
                            const __grid_constant__ ExpertMatrix matrix,
                            ExpertBias bias, int64_t experts) {
  auto &shared = *reinterpret_cast<ExpertTile<T> *>(sharedMemory());
  const int64_t tile = blockIdx.x, first = int64_t(blockIdx.y) * kColumns;
  if (tile >= order.tiles[experts])
    return;
  const int64_t e = expertOfTile(order, experts, tile);
  const int64_t begin =
      order.starts[e] + (tile - order.tiles[e]) * kExpertTileRows;
  if (threadIdx.x < kRows) {
    const int64_t at = begin + threadIdx.x;
    const int32_t pair = at < order.starts[e + 1] ? order.pairs[at] : -1;
    shared.pairs[threadIdx.x] = pair;
    shared.rowAt[threadIdx.x] =
        pair < 0 ? 0 : pair / rows.pairsOfRow * rows.strides[0];
  }
  __syncthreads(); // also where there is nothing to sum
  const int row = int(threadIdx.x) / 16 * kOfThread;
  const int column = int(threadIdx.x) % 16 * kOfThread;
  Sum<T> own[kOfThread][kOfThread] = {};
  const bool isByColumns = matrix.data[1] == 1;
  for (int64_t k0 = 0; k0 < matrix.k; k0 += kDepth) {
    __syncthreads();
    for (int i = threadIdx.x; i < kRows * kDepth; i += kThreads) {
      const int r = i / kDepth, k = i % kDepth;
      shared.rows[k][r] =
          shared.pairs[r] >= 0 && k0 + k < matrix.k
              ? Sum<T>(reinterpret_cast<const X *>(
                    rows.data)[shared.rowAt[r] + (k0 + k) * rows.strides[1]])
              : Sum<T>(0);
    }
    for (int i = threadIdx.x; i < kColumns * kDepth; i += kThreads) {
      // Neighbouring threads read along what is dense.
      const int c = isByColumns ? i / kDepth : i % kColumns;
      const int k = isByColumns ? i % kDepth : i / kColumns;
      shared.weights[k][c] = first + c < matrix.columns && k0 + k < matrix.k
                                 ? weightAt<T>(matrix, e, k0 + k, first + c)
                                 : Sum<T>(0);
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kDepth; ++k)
#pragma unroll
      for (int i = 0; i < kOfThread; ++i)
#pragma unroll
        for (int j = 0; j < kOfThread; ++j)
          own[i][j] += shared.rows[k][row + i] * shared.weights[k][column + j];
  }
  for (int i = 0; i < kOfThread; ++i)
    for (int j = 0; j < kOfThread; ++j) {
      const int64_t pair = shared.pairs[row + i], at = first + column + j;
      if (pair < 0 || at >= matrix.columns)
        continue;
      const Sum<T> offset =
          bias.data
              ? Sum<T>(reinterpret_cast<const T *>(
                    bias.data)[e * bias.strides[0] + at * bias.strides[1]])
              : Sum<T>(0);
      sums[pair * matrix.columns + at] = own[i][j] + offset;
    }
}

} // namespace

Status multiplyTiles(const ExpertChoices &choices, const ExpertOrder &order,
                     const ExpertRows &rows, bool rowsAreSums,
                     const ExpertMatrix &matrix, const ExpertBias &bias,
                     artifact::ElementType element, std::byte *sums,
                     cudaStream_t stream) {
  const int64_t tiles =
      choices.pairs / kExpertTileRows + std::min(choices.here, choices.pairs);
  const int64_t columns = (matrix.columns + kColumns - 1) / kColumns;
  if (tiles == 0 || columns == 0)
    return Status::ok();
  const dim3 blocks(static_cast<unsigned>(tiles),
                    static_cast<unsigned>(columns));
  return host::dispatch(
      host::FloatTypes(), element, "MixtureOfExperts", [&](auto tag) {
        using T = typename decltype(tag)::Type;
        const Grid grid = {blocks, kThreads, sizeof(ExpertTile<T>), true};
        auto *to = reinterpret_cast<Sum<T> *>(sums);
        return rowsAreSums ? launch(tilesKernel<T, Sum<T>>, grid, stream, to,
                                    order, rows, matrix, bias, choices.here)
                           : launch(tilesKernel<T, T>, grid, stream, to, order,
                                    rows, matrix, bias, choices.here);
      });
}

} // namespace shardc::runtime::cuda
