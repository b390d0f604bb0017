//===- ExpertTensorCores.cu - Products of experts on tensor cores ---------===//
//
// Of halves: a block has 64 or 128 pairs of one expert and 128 columns; 8 warps
// have a half of the rows and a fourth of the columns each. Slices of 32 along
// k come to shared memory in turn, one while the one before it is multiplied:
// rows and weights that lie so as copies beside the threads, integers of 4 and
// 8 bits in registers, to become halves behind the products.
//
// An element is summed slice by slice, 16 along k at a time, wherever its row
// is in the tile and whatever the other rows are: pairs are sorted in any
// order, and their bits are the same each time, also in tiles of other sizes.
//
//===----------------------------------------------------------------------===//
#include "runtime/device/cuda/kernels/experts/ExpertSlices.h"

namespace shardc::runtime::cuda {
namespace {

using namespace expert;

template <typename T, int kRows, WeightLoads kLoads> class CoreTile {
  using Memory = CoreMemory<T, kRows, kLoads>;
  using Slice = typename Memory::Slice;
  static constexpr int kRowCores = kRows / kRowWarps / kCore;
  using RowRuns = ThreadRuns<kRows, kDepth>;
  using WeightRuns = ThreadRuns<Memory::kLines, Memory::kLength>;

public:
  explicit __device__ CoreTile(const TileProduct &p)
      : p(p), m(p.matrix), memory(*reinterpret_cast<Memory *>(sharedMemory())),
        first(int64_t(blockIdx.y) * kColumns),
        row(warpOfBlock() / kColumnWarps * kRowCores * kCore),
        column(warpOfBlock() % kColumnWarps * kWarpColumns) {}

  __device__ void run() {
    expert = memory.tile.take(p, blockIdx.x, blockIdx.z);
    if (expert < 0)
      return;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kRowCores; ++i)
#pragma unroll
      for (int j = 0; j < kColumnCores; ++j)
        wmma::fill_fragment(sums[i][j], 0.f);
    prepare();
    const int slices = slicesWith(m.k, 0);
    if (slices > 0) {
      begin(memory.slices[0], 0);
      end(memory.slices[0]);
    }
    for (int slice = 0; slice < slices; ++slice) {
      waitForCopies();
      __syncthreads(); // the other slice has been multiplied, too
      Slice &next = memory.slices[(slice + 1) % 2];
      if (slice + 1 < slices)
        begin(next, slice + 1);
      multiply(memory.slices[slice % 2]);
      if (slice + 1 < slices)
        end(next);
    }
    __syncthreads();
    store();
  }

private:
  /// On their way to shared memory.
  struct IntegerRuns {
    const std::byte *from[WeightRuns::kCount];
    int slices[WeightRuns::kCount];
    WeightScales<T> scales; ///< of the first one
    uint2 words[WeightRuns::kCount];
    float scale[WeightRuns::kCount], zero[WeightRuns::kCount];
  };

  __device__ void prepare() {
    if constexpr (kLoads != WeightLoads::Elements) {
      prepareRows();
      prepareWeights();
    }
  }

  /// Loads a slice, or begins to.
  __device__ void begin(Slice &to, int slice) {
    if constexpr (kLoads == WeightLoads::Elements) {
      loadRows(to, int64_t{slice} * kDepth);
      loadWeights(to, int64_t{slice} * kDepth);
      return;
    }
    const RowRuns rowRuns;
    rows.copy(&to.rows[rowRuns.line][rowRuns.place],
              RowRuns::kApart * (kDepth + kGap), slice, kDepth);
    const WeightRuns runs;
    if constexpr (areQuantized(kLoads))
      loadIntegers(slice, runs.place);
    else
      weights.copy(&to.weights[runs.line][runs.place],
                   WeightRuns::kApart * (Memory::kLength + kGap), slice,
                   kLoads == WeightLoads::Rows ? kDepth * m.data[1] : kDepth);
  }

  __device__ void end(Slice &to) const {
    if constexpr (areQuantized(kLoads))
      storeIntegers(to);
  }

  __device__ void prepareRows() {
    const RowRuns runs;
#pragma unroll
    for (int i = 0; i < RowRuns::kCount; ++i) {
      const int r = runs.line + i * RowRuns::kApart;
      rows.from[i] = reinterpret_cast<const T *>(p.rows.data) +
                     memory.tile.rowAt[r] + runs.place;
      rows.slices[i] =
          memory.tile.pairs[r] >= 0 ? slicesWith(m.k, runs.place) : 0;
    }
  }

  __device__ void prepareWeights() {
    constexpr bool kIsByColumns = Memory::kIsByColumns;
    const WeightRuns runs;
    if constexpr (areQuantized(kLoads))
      integers.scales = WeightScales<T>(m, expert, first + runs.line);
#pragma unroll
    for (int i = 0; i < WeightRuns::kCount; ++i) {
      const int line = runs.line + i * WeightRuns::kApart;
      const int k = kIsByColumns ? runs.place : line;
      const int c = kIsByColumns ? line : runs.place;
      const int slices = first + c < m.columns ? slicesWith(m.k, k) : 0;
      if constexpr (areQuantized(kLoads)) {
        const int64_t at = offsetOf(k, c) + m.integers.first;
        integers.from[i] = m.integers.data + (hasBytes() ? at : at / 2);
        integers.slices[i] = slices;
      } else {
        weights.from[i] =
            reinterpret_cast<const T *>(m.numbers) + offsetOf(k, c);
        weights.slices[i] = slices;
      }
    }
  }

  /// Of a weight, the column being the block's.
  __device__ bool isThere(int64_t k, int c) const {
    return k < m.k && first + c < m.columns;
  }
  __device__ int64_t offsetOf(int64_t k, int c) const {
    return expert * m.data[0] + k * m.data[1] + (first + c) * m.data[2];
  }

  __device__ void loadRows(Slice &to, int64_t k0) const {
    const T *from = reinterpret_cast<const T *>(p.rows.data);
    const TilePairs<kRows> &tile = memory.tile;
#pragma unroll 1
    for (int i = threadIdx.x; i < kRows * kDepth; i += kThreads) {
      const int r = i / kDepth, k = i % kDepth;
      to.rows[r][k] = tile.pairs[r] >= 0 && k0 + k < m.k
                          ? from[tile.rowAt[r] + (k0 + k) * p.rows.strides[1]]
                          : T(0);
    }
  }

  __device__ void loadWeights(Slice &to, int64_t k0) const {
    const bool isByColumns = m.data[1] == 1;
#pragma unroll 1
    for (int i = threadIdx.x; i < kColumns * kDepth; i += kThreads) {
      // Neighbouring threads read along what is dense.
      const int c = isByColumns ? i / kDepth : i % kColumns;
      const int k = isByColumns ? i % kDepth : i / kColumns;
      to.weights[c][k] =
          isThere(k0 + k, c) ? weightAt<T>(m, expert, k0 + k, first + c) : T(0);
    }
  }

  /// Or halves of them.
  __device__ bool hasBytes() const {
    return kLoads == WeightLoads::Float8s ||
           m.integers.element == artifact::ElementType_Int8 ||
           m.integers.element == artifact::ElementType_UInt8;
  }
  /// All of a thread's runs are at one place along k, and of one block.
  __device__ void loadIntegers(int slice, int place) {
    const int64_t k = int64_t{slice} * kDepth + place;
    const int64_t block = k < m.k ? m.blocks.blockOf(k) : 0;
#pragma unroll
    for (int i = 0; i < WeightRuns::kCount; ++i) {
      integers.words[i] = {};
      integers.scale[i] = integers.zero[i] = 0; // so it becomes 0
      if (slice >= integers.slices[i])
        continue;
      const std::byte *from = integers.from[i];
      if (hasBytes())
        integers.words[i] = *reinterpret_cast<const uint2 *>(from);
      else
        integers.words[i].x = *reinterpret_cast<const uint32_t *>(from);
      integers.from[i] = from + (hasBytes() ? kDepth : kDepth / 2);
      WeightScales<T> scales = integers.scales;
      scales.move(m, 2, i * WeightRuns::kApart);
      integers.scale[i] = scales.scale(m, block);
      integers.zero[i] = -scales.difference(m, block, 0);
    }
  }

  /// Of an integer, or of a byte.
  __device__ float numberOf(int value) const {
    if constexpr (kLoads == WeightLoads::Float8s)
      return m.decode(static_cast<uint8_t>(value));
    return float(value);
  }

  __device__ void storeIntegers(Slice &to) const {
    const bool isSigned = m.integers.element == artifact::ElementType_Int8 ||
                          m.integers.element == artifact::ElementType_Int4;
    const WeightRuns runs;
#pragma unroll
    for (int i = 0; i < WeightRuns::kCount; ++i) {
      int values[kPackedRun];
      if (hasBytes())
        unpackBytes(integers.words[i], isSigned, values);
      else
        unpackHalves(integers.words[i].x, isSigned, values);
      PackedRun<T> run;
#pragma unroll
      for (int j = 0; j < kPackedRun; ++j)
        run.values[j] =
            T((numberOf(values[j]) - integers.zero[i]) * integers.scale[i]);
      const int c = runs.line + i * WeightRuns::kApart;
      *reinterpret_cast<PackedRun<T> *>(&to.weights[c][runs.place]) = run;
    }
  }

  __device__ void multiply(const Slice &slice) {
    constexpr bool kIsByColumns = Memory::kIsByColumns;
#pragma unroll
    for (int k = 0; k < kDepth; k += kCore) {
      CoreColumns<T, kIsByColumns> columns[kColumnCores];
#pragma unroll
      for (int j = 0; j < kColumnCores; ++j) {
        const int c = column + j * kCore;
        loadCore(columns[j],
                 kIsByColumns ? &slice.weights[c][k] : &slice.weights[k][c],
                 Memory::kLength + kGap);
      }
#pragma unroll
      for (int i = 0; i < kRowCores; ++i) {
        CoreRows<T> lines;
        loadCore(lines, &slice.rows[row + i * kCore][k], kDepth + kGap);
#pragma unroll
        for (int j = 0; j < kColumnCores; ++j)
          wmma::mma_sync(sums[i][j], lines, columns[j], sums[i][j]);
      }
    }
  }

  /// 16 rows of a warp at a time, through shared memory: a lane has a column.
  __device__ void store() {
    static_assert(kWarpColumns == kWarp);
    auto &piece = memory.pieces[warpOfBlock()];
    const int64_t at = first + column + laneOfWarp();
    const bool exists = at < m.columns;
    const float offset = exists ? biasAt<T>(p.bias, expert, at) : 0.f;
    float *to = reinterpret_cast<float *>(p.sums) + at;
#pragma unroll
    for (int i = 0; i < kRowCores; ++i) {
#pragma unroll
      for (int j = 0; j < kColumnCores; ++j)
        wmma::store_matrix_sync(&piece[0][j * kCore], sums[i][j], kPieceStride,
                                wmma::mem_row_major);
      __syncwarp();
#pragma unroll 4
      for (int r = 0; r < kCore; ++r) {
        const int64_t pair = memory.tile.pairs[row + i * kCore + r];
        if (exists && pair >= 0)
          to[pair * m.columns] = piece[r][laneOfWarp()] + offset;
      }
      __syncwarp();
    }
  }

  const TileProduct &p;
  const ExpertMatrix &m;
  Memory &memory;
  int64_t expert = -1;
  const int64_t first;   ///< column of the block
  const int row, column; ///< of the warp, in the block
  RunCopies<T, RowRuns::kCount> rows;
  RunCopies<T, WeightRuns::kCount> weights;
  IntegerRuns integers;
  CoreSums sums[kRowCores][kColumnCores];
};

/// Two blocks of an SM wait in turn; registers of integers on their way leave
/// room for one of many rows.
template <int kRows, WeightLoads kLoads>
inline constexpr int kBlocksOfSm =
    kRows == kLargeTileRows && areQuantized(kLoads) ? 1 : 2;

template <typename T, int kRows, WeightLoads kLoads>
__global__ __launch_bounds__(kThreads, kBlocksOfSm<kRows, kLoads>) //
    void coresKernel(const __grid_constant__ TileProduct p) {
  CoreTile<T, kRows, kLoads>(p).run();
}

/// Whether runs of 8 elements from multiples of 8 lie at multiples of what is
/// read at once.
bool hasRuns(const std::byte *data, int64_t bytesOfRun,
             std::initializer_list<int64_t> steps) {
  const auto at = reinterpret_cast<uintptr_t>(data);
  bool has = at % static_cast<uintptr_t>(bytesOfRun) == 0;
  for (const int64_t step : steps)
    has = has && step % kPackedRun == 0;
  return has;
}

WeightLoads loadsOf(const TileProduct &p) {
  const ExpertMatrix &m = p.matrix;
  const int64_t *data = m.data;
  if (p.rows.strides[1] != 1 ||
      !hasRuns(p.rows.data, 16, {p.rows.strides[0], m.k}))
    return WeightLoads::Elements;
  if (m.numbers)
    return data[1] == 1 && hasRuns(m.numbers, 16, {data[0], data[2], m.k})
               ? WeightLoads::Columns
           : data[2] == 1 &&
                   hasRuns(m.numbers, 16, {data[0], data[1], m.columns})
               ? WeightLoads::Rows
               : WeightLoads::Elements;
  // A run has one scale.
  const int64_t bits = artifact::elementBits(m.integers.element);
  const bool has =
      data[1] == 1 && bits >= 4 && bits <= 8 && m.scaleAt[1] == 0 &&
      m.zeroAt[1] == 0 && (m.axis != 1 || m.blocks.keepsRuns(kPackedRun)) &&
      hasRuns(m.integers.data, bits, {data[0], data[2], m.k, m.integers.first});
  return !has         ? WeightLoads::Elements
         : m.isFloat8 ? WeightLoads::Float8s
                      : WeightLoads::Integers;
}

template <typename T, int kRows, WeightLoads kLoads>
Status launchTiles(const TileProduct &p, int64_t pairs, cudaStream_t stream) {
  dim3 blocks = tileBlocks(p, pairs, kColumns);
  blocks.z = static_cast<unsigned>(p.order.tileRows / kRows);
  return launch(coresKernel<T, kRows, kLoads>,
                {blocks, kThreads, sizeof(CoreMemory<T, kRows, kLoads>), true},
                stream, p);
}

template <typename T, WeightLoads kLoads>
Status launchLoads(const TileProduct &p, int64_t pairs, cudaStream_t stream) {
  return p.order.tileRows == kLargeTileRows
             ? launchTiles<T, kLargeTileRows, kLoads>(p, pairs, stream)
             : launchTiles<T, kSmallTileRows, kLoads>(p, pairs, stream);
}

} // namespace

template <typename T>
Status multiplyOnCores(const TileProduct &p, int64_t pairs,
                       cudaStream_t stream) {
  switch (loadsOf(p)) {
  case WeightLoads::Columns:
    return launchLoads<T, WeightLoads::Columns>(p, pairs, stream);
  case WeightLoads::Rows:
    return launchLoads<T, WeightLoads::Rows>(p, pairs, stream);
  case WeightLoads::Integers:
    return launchLoads<T, WeightLoads::Integers>(p, pairs, stream);
  case WeightLoads::Float8s:
    return launchLoads<T, WeightLoads::Float8s>(p, pairs, stream);
  default: // a large one as two small ones
    return launchTiles<T, kSmallTileRows, WeightLoads::Elements>(p, pairs,
                                                                 stream);
  }
}
template Status multiplyOnCores<host::Float16>(const TileProduct &, int64_t,
                                               cudaStream_t);
template Status multiplyOnCores<host::BFloat16>(const TileProduct &, int64_t,
                                                cudaStream_t);

} // namespace shardc::runtime::cuda
