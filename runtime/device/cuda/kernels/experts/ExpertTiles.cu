//===- ExpertTiles.cu - Products of experts, a tile of rows at a time -----===//
//
// Of floats and doubles: a block has 64 pairs of one expert and 64 columns; a
// thread 4 of each. What is summed comes to shared memory 16 at a time.
//
//===----------------------------------------------------------------------===//
#include "runtime/device/cuda/kernels/experts/ExpertTilesDevice.h"

namespace shardc::runtime::cuda {
namespace {

constexpr int kRows = kSmallTileRows, kColumns = 64, kDepth = 16;
constexpr int kOfThread = 4;
static_assert(kRows * kColumns == kThreads * kOfThread * kOfThread);

template <typename T> struct ExpertTile {
  T rows[kDepth][kRows + kOfThread];
  T weights[kDepth][kColumns + kOfThread];
  TilePairs<kRows> tile;
};

template <typename T>
__global__ void tilesKernel(const __grid_constant__ TileProduct p) {
  auto &shared = *reinterpret_cast<ExpertTile<T> *>(sharedMemory());
  const ExpertMatrix &matrix = p.matrix;
  const int64_t first = int64_t(blockIdx.y) * kColumns;
  const int64_t e = shared.tile.take(p, blockIdx.x, 0);
  if (e < 0)
    return;
  __syncthreads(); // also where there is nothing to sum
  const int row = int(threadIdx.x) / 16 * kOfThread;
  const int column = int(threadIdx.x) % 16 * kOfThread;
  T own[kOfThread][kOfThread] = {};
  const bool isByColumns = matrix.data[1] == 1;
  for (int64_t k0 = 0; k0 < matrix.k; k0 += kDepth) {
    __syncthreads();
    for (int i = threadIdx.x; i < kRows * kDepth; i += kThreads) {
      const int r = i / kDepth, k = i % kDepth;
      shared.rows[k][r] = shared.tile.pairs[r] >= 0 && k0 + k < matrix.k
                              ? reinterpret_cast<const T *>(
                                    p.rows.data)[shared.tile.rowAt[r] +
                                                 (k0 + k) * p.rows.strides[1]]
                              : T(0);
    }
    for (int i = threadIdx.x; i < kColumns * kDepth; i += kThreads) {
      // Neighbouring threads read along what is dense.
      const int c = isByColumns ? i / kDepth : i % kColumns;
      const int k = isByColumns ? i % kDepth : i / kColumns;
      shared.weights[k][c] = first + c < matrix.columns && k0 + k < matrix.k
                                 ? weightAt<T>(matrix, e, k0 + k, first + c)
                                 : T(0);
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
      const int64_t pair = shared.tile.pairs[row + i], at = first + column + j;
      if (pair >= 0 && at < matrix.columns)
        reinterpret_cast<T *>(p.sums)[pair * matrix.columns + at] =
            own[i][j] + biasAt<T>(p.bias, e, at);
    }
}

} // namespace

Status multiplyTiles(const ExpertChoices &choices, const ExpertOrder &order,
                     const ExpertRows &rows, const ExpertMatrix &matrix,
                     const ExpertBias &bias, artifact::ElementType element,
                     std::byte *sums, cudaStream_t stream) {
  const TileProduct p = {order, rows, matrix, bias, choices.here, sums};
  if (choices.pairs == 0 || choices.here == 0 || matrix.columns == 0)
    return Status::ok();
  return host::dispatch(
      host::FloatTypes(), element, "MixtureOfExperts", [&](auto tag) {
        using T = typename decltype(tag)::Type;
        if constexpr (sizeof(T) == 2)
          return multiplyOnCores<T>(p, choices.pairs, stream);
        else
          return launch(tilesKernel<T>,
                        {tileBlocks(p, choices.pairs, kColumns), kThreads,
                         sizeof(ExpertTile<T>), true},
                        stream, p);
      });
}

} // namespace shardc::runtime::cuda
