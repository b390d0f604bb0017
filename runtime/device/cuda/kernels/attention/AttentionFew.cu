// Attention of few rows, as in a step of decoding: what takes time is to read
// keys and values, once each. The keys of a block are split over its warps, 32
// at a time: a lane has one key and multiplies it by all rows, then 4 columns
// of the values. In the end the warps put together what they have seen.
#include "runtime/device/cuda/kernels/attention/AttentionDevice.h"
#include "runtime/kernels/Dispatch.h"

namespace shardc::runtime::cuda {
namespace {

constexpr int kWarps = 8, kRows = 8;
constexpr int kColumnsOfLane = 4;
static_assert(kColumnsOfLane * kWarp == kAttentionColumns);

template <typename A> constexpr int kDepth = 128 / sizeof(A);

/// Of one warp.
template <typename A> struct WarpMemory {
  A queries[kRows][kDepth<A>];
  A keys[kWarp][kDepth<A> + 1];
};
/// What a warp hands to another one.
template <typename A> struct WarpResult {
  A values[kRows][kAttentionColumns];
  A maximum[kRows], sum[kRows];
};

template <typename A> struct BlockMemory {
  AttentionRow rows[kRows];
  union {
    WarpMemory<A> warps[kWarps];
    WarpResult<A> results[kWarps / 2];
  };
};

template <typename T> class FewRows {
  using A = Acc<T>;

public:
  __device__ FewRows(const AttentionProblem &p)
      : p(p), block(p, kRows),
        shared(*reinterpret_cast<BlockMemory<A> *>(sharedMemory())),
        memory(shared.warps[warpOfBlock()]), lane(laneOfWarp()),
        warp(warpOfBlock()), k(elementsOf<T>(p.k, block.batch, block.kvHead)),
        v(elementsOf<T>(p.v, block.batch, block.kvHead)) {
    width = p.columns - block.firstColumn;
    const int64_t left = p.rowsOfHead() - block.firstRow;
    rows = int(left < kRows ? left : kRows);
    for (auto &row : sums)
      for (A &value : row)
        value = 0;
    if (threadIdx.x < kRows)
      shared.rows[threadIdx.x] =
          AttentionRow(p, block, block.firstRow + threadIdx.x);
    __syncthreads();
#pragma unroll
    for (int r = 0; r < kRows; ++r)
      if (p.continues && warp == 0 && r < rows)
        loadState(shared.rows[r], block, p, width, stats[r], sums[r]);
  }

  __device__ void run() {
    // Of all keys, those of this split.
    const KeySpan mine = {p.keys * block.split / p.splits,
                          p.keys * (block.split + 1) / p.splits};
    const KeySpan places = placesOf(p, 0, p.queries);
    int64_t first = 0;
    for (int piece = 0; piece < p.keyPieces.count; ++piece) {
      KeySpan seen = seenKeys(p, piece, first, places.begin, places.end);
      seen.begin = seen.begin > mine.begin ? seen.begin : mine.begin;
      seen.end = seen.end < mine.end ? seen.end : mine.end;
      for (int64_t at = seen.begin + warp * kWarp; at < seen.end;
           at += kWarps * kWarp)
        see(piece, first, at, seen.end - at < kWarp ? seen.end - at : kWarp);
      first += p.keyPieces.sizes[piece];
    }
    mergeWarps();
    if (warp == 0)
      end();
  }

private:
  __device__ void load(int64_t key, int64_t count, int64_t depth) {
    constexpr int kChunk = kDepth<A>;
    for (int e = lane; e < rows * kChunk; e += kWarp) {
      const int r = e / kChunk, d = e % kChunk;
      memory.queries[r][d] = depth + d < p.depth
                                 ? A(reinterpret_cast<const T *>(
                                       p.q.data)[shared.rows[r].queryAt +
                                                 (depth + d) * p.q.strides[3]])
                                 : A(0);
    }
#pragma unroll 8
    for (int e = lane; e < kWarp * kChunk; e += kWarp) {
      const int c = e / kChunk, d = e % kChunk;
      memory.keys[c][d] =
          c < count && depth + d < p.depth
              ? A(k[(key + c) * p.k.strides[2] + (depth + d) * p.k.strides[3]])
              : A(0);
    }
  }

  /// Adds keys [key, key + count), up to one a lane.
  __device__ void see(int piece, int64_t first, int64_t key, int64_t count) {
    A weights[kRows] = {};
    for (int64_t depth = 0; depth < p.depth; depth += kDepth<A>) {
      __syncwarp();
      load(key, count, depth);
      __syncwarp();
#pragma unroll 4
      for (int d = 0; d < kDepth<A>; ++d) {
        const A factor = memory.keys[lane][d];
#pragma unroll
        for (int r = 0; r < kRows; ++r)
          if (r < rows)
            weights[r] += memory.queries[r][d] * factor;
      }
    }
#pragma unroll
    for (int r = 0; r < kRows; ++r)
      if (r < rows)
        weigh(shared.rows[r], piece, first, key, count, weights[r], stats[r],
              sums[r]);
#pragma unroll 2
    for (int c = 0; c < count; ++c) {
      const T *from = v + (key + c) * p.v.strides[2];
      for (int j = 0; j < kColumnsOfLane; ++j) {
        const int64_t column = lane + j * kWarp;
        const A value =
            column < width
                ? A(from[(block.firstColumn + column) * p.v.strides[3]])
                : A(0);
#pragma unroll
        for (int r = 0; r < kRows; ++r)
          if (r < rows)
            sums[r][j] += __shfl_sync(kAllLanes, weights[r], c) * value;
      }
    }
  }

  /// Makes the lane's weight of its product.
  __device__ void weigh(const AttentionRow &own, int piece, int64_t first,
                        int64_t key, int64_t count, A &weight,
                        SeenStats<A> &seen, A (&values)[kColumnsOfLane]) {
    constexpr A infinity = std::numeric_limits<A>::infinity();
    const int64_t at = key + lane;
    const KeySpan span = seenKeys(p, piece, first, own.place, own.place);
    const bool sees = lane < count && at >= span.begin && at < span.end;
    const A score = sees ? scoreOf<T>(p, own, weight,
                                      p.keyPieces.places[piece] + at - first)
                         : -infinity;
    const A factor = seen.raise(maximumOfWarp(score));
    weight = sees ? seen.weigh(score) : A(0);
    seen.sum += sumOfWarp(weight);
    for (A &value : values)
      value *= factor;
  }

  /// Warp 0 gets what all have seen: 4 to 7 hand theirs to 0 to 3, and so on.
  __device__ void mergeWarps() {
    for (int half = kWarps / 2; half > 0; half /= 2) {
      __syncthreads();
      if (warp >= half && warp < 2 * half)
        give(shared.results[warp - half]);
      __syncthreads();
      if (warp < half)
        take(shared.results[warp]);
    }
  }
  __device__ void give(WarpResult<A> &to) const {
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      for (int j = 0; j < kColumnsOfLane; ++j)
        to.values[r][lane + j * kWarp] = sums[r][j];
      if (lane == 0) { // all lanes have the same
        to.maximum[r] = stats[r].maximum;
        to.sum[r] = stats[r].sum;
      }
    }
  }
  __device__ void take(const WarpResult<A> &from) {
#pragma unroll
    for (int r = 0; r < kRows; ++r)
      addState(stats[r], sums[r], from.maximum[r], from.sum[r],
               [&](int j) { return from.values[r][lane + j * kWarp]; });
  }

  __device__ void end() const {
#pragma unroll
    for (int r = 0; r < kRows; ++r)
      if (r < rows)
        store<T>(shared.rows[r], block, stats[r], p, lane == 0,
                 [&](auto write) {
                   for (int j = 0; j < kColumnsOfLane; ++j)
                     if (lane + j * kWarp < width)
                       write(lane + j * kWarp, sums[r][j]);
                 });
  }

  const AttentionProblem &p;
  const AttentionBlock block;
  BlockMemory<A> &shared;
  WarpMemory<A> &memory;
  const int lane, warp;
  const T *const k, *const v;
  int64_t width;
  int rows;
  A sums[kRows][kColumnsOfLane];
  SeenStats<A> stats[kRows];
};

template <typename T>
__global__ void fewKernel(const __grid_constant__ AttentionProblem problem) {
  FewRows<T>(problem).run();
}

} // namespace

Status attendFew(const AttentionProblem &problem, artifact::ElementType element,
                 cudaStream_t stream) {
  return host::dispatch(
      host::FloatTypes(), element, "Attention", [&](auto tag) {
        using T = typename decltype(tag)::Type;
        if constexpr (sizeof(T) == 2)
          if (isForCores(problem))
            return attendOnCores<T>(problem, stream);
        return launch(fewKernel<T>,
                      {attentionBlocks(problem, kRows), kWarps * kWarp,
                       sizeof(BlockMemory<Acc<T>>), true},
                      stream, problem);
      });
}

} // namespace shardc::runtime::cuda
