// Attention of few rows, as in a step of decoding: what takes time is to read
// keys and values, once each. The keys of a block are split over its warps
// (AttentionWarps.h).
#include "runtime/device/cuda/kernels/attention/AttentionWarps.h"
#include "runtime/kernels/Dispatch.h"

namespace shardc::runtime::cuda {
namespace {

constexpr int kWarps = kWarpsOfFew, kRows = kRowsOfFew;

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
    if (threadIdx.x < kRows)
      shared.rows[threadIdx.x] =
          AttentionRow(p, block, block.firstRow + threadIdx.x);
    __syncthreads();
#pragma unroll
    for (int r = 0; r < kRows; ++r)
      if (p.continues && warp == 0 && r < rows)
        loadState(shared.rows[r], block, p, width, seen.stats[r], seen.sums[r]);
  }

  __device__ void run() {
    // Of all keys, those of this split.
    const KeySpan mine = {p.keys * block.split / p.splits,
                          p.keys * (block.split + 1) / p.splits};
    const KeySpan places = placesOf(p, 0, p.queries);
    int64_t first = 0;
    for (int piece = 0; piece < p.keyPieces.count; ++piece) {
      KeySpan span = seenKeys(p, piece, first, places.begin, places.end);
      span.begin = span.begin > mine.begin ? span.begin : mine.begin;
      span.end = span.end < mine.end ? span.end : mine.end;
      for (int64_t at = span.begin + warp * kWarp; at < span.end;
           at += kWarps * kWarp)
        see(piece, first, at, span.end - at < kWarp ? span.end - at : kWarp);
      first += p.keyPieces.sizes[piece];
    }
    seen.mergeWarps(shared.results);
    if (warp == 0)
      end();
  }

private:
  __device__ void load(int64_t key, int64_t count, int64_t depth) {
    constexpr int kChunk = kDepthOfFew<A>;
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
    for (int64_t depth = 0; depth < p.depth; depth += kDepthOfFew<A>) {
      __syncwarp();
      load(key, count, depth);
      __syncwarp();
      seen.multiply(memory, rows, weights);
    }
#pragma unroll
    for (int r = 0; r < kRows; ++r)
      if (r < rows)
        weigh(r, piece, first, key, count, weights[r]);
#pragma unroll 2
    for (int c = 0; c < count; ++c) {
      const T *from = v + (key + c) * p.v.strides[2];
      seen.add(weights, rows, c, [&](int j) {
        const int64_t column = lane + j * kWarp;
        return column < width
                   ? A(from[(block.firstColumn + column) * p.v.strides[3]])
                   : A(0);
      });
    }
  }

  /// Makes the lane's weight of its product.
  __device__ void weigh(int r, int piece, int64_t first, int64_t key,
                        int64_t count, A &weight) {
    const AttentionRow &own = shared.rows[r];
    const int64_t at = key + lane;
    const KeySpan span = seenKeys(p, piece, first, own.place, own.place);
    const bool sees = lane < count && at >= span.begin && at < span.end;
    const A score = sees ? scoreOf<T>(p, own, weight,
                                      p.keyPieces.places[piece] + at - first)
                         : A(0);
    weight = seen.weigh(r, sees, score);
  }

  __device__ void end() const {
#pragma unroll
    for (int r = 0; r < kRows; ++r)
      if (r < rows)
        store<T>(shared.rows[r], block, seen.stats[r], p, lane == 0,
                 [&](auto write) {
                   for (int j = 0; j < kColumnsOfLane; ++j)
                     if (lane + j * kWarp < width)
                       write(lane + j * kWarp, seen.sums[r][j]);
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
  SeenRows<A> seen;
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
