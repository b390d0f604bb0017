// Attention of many rows: a block has 32 rows and walks over tiles of 64 keys.
// Queries and keys come to shared memory 32 elements of the heads at a time, so
// that heads may have any size; a warp has 4 rows, a lane 2 keys of these, and
// later 4 columns of the values. Halves are for AttentionCores.cu, but of the
// largest heads.
#include "runtime/device/cuda/kernels/attention/AttentionDevice.h"
#include "runtime/kernels/Dispatch.h"

namespace shardc::runtime::cuda {
namespace {

constexpr int kWarps = 8, kRowsOfWarp = 4, kRows = kWarps * kRowsOfWarp;
constexpr int kKeysOfLane = 2, kKeys = kKeysOfLane * kWarp;
constexpr int kDepth = 32;
constexpr int kColumnsOfLane = 4, kColumns = kColumnsOfLane * kWarp;
constexpr int kValueRows = 16;
static_assert(kColumns == kAttentionColumns);

template <typename A> struct TileMemory {
  A queries[kRows][kDepth + 1];
  union {
    A keys[kKeys][kDepth + 1];
    A values[kValueRows][kColumns];
  };
  A weights[kRows][kKeys];
  AttentionRow rows[kRows];
};

/// The rows of a warp, each lane with its share.
template <typename T> class TileRows {
  using A = Acc<T>;

public:
  __device__ TileRows(const AttentionProblem &p)
      : p(p), block(p, kRows),
        memory(*reinterpret_cast<TileMemory<A> *>(sharedMemory())),
        lane(laneOfWarp()), firstOfWarp(warpOfBlock() * kRowsOfWarp),
        k(elementsOf<T>(p.k, block.batch, block.kvHead)),
        v(elementsOf<T>(p.v, block.batch, block.kvHead)) {
    width = p.columns - block.firstColumn;
    width = width < kColumns ? width : kColumns;
  }

  __device__ void run() {
    begin();
    const KeySpan places = placesOfTile();
    int64_t first = 0;
    for (int piece = 0; piece < p.keyPieces.count; ++piece) {
      const KeySpan seen = seenKeys(p, piece, first, places.begin, places.end);
      for (int64_t at = seen.begin; at < seen.end; at += kKeys) {
        const int64_t count = seen.end - at < kKeys ? seen.end - at : kKeys;
        multiplyKeys(at, count);
        weigh(piece, first, at, count);
        addValues(at, count);
      }
      first += p.keyPieces.sizes[piece];
    }
    end();
  }

private:
  /// Of all rows' queries.
  __device__ KeySpan placesOfTile() const {
    const int64_t rows = p.rowsOfHead();
    const int64_t begin = block.firstRow, last = begin + kRows;
    const int64_t end = last < rows ? last : rows;
    const int64_t query = begin % p.queries;
    return query + (end - begin) <= p.queries
               ? placesOf(p, query, query + (end - begin))
               : placesOf(p, 0, p.queries);
  }

  __device__ void begin() {
    if (threadIdx.x < kRows)
      memory.rows[threadIdx.x] =
          AttentionRow(p, block, block.firstRow + threadIdx.x);
    __syncthreads();
    for (int i = 0; i < kRowsOfWarp; ++i) {
      for (A &value : sums[i])
        value = 0;
      const AttentionRow &own = memory.rows[firstOfWarp + i];
      if (p.continues && own.exists)
        loadState(own, block, p, width, stats[i], sums[i]);
    }
  }

  __device__ void load(int64_t key, int64_t count, int64_t depth) {
    for (int e = threadIdx.x; e < kRows * kDepth; e += kThreads) {
      const int i = e / kDepth, d = e % kDepth;
      const AttentionRow &row = memory.rows[i];
      memory.queries[i][d] =
          row.exists && depth + d < p.depth
              ? A(reinterpret_cast<const T *>(
                    p.q.data)[row.queryAt + (depth + d) * p.q.strides[3]])
              : A(0);
    }
    for (int e = threadIdx.x; e < kKeys * kDepth; e += kThreads) {
      const int c = e / kDepth, d = e % kDepth;
      memory.keys[c][d] =
          c < count && depth + d < p.depth
              ? A(k[(key + c) * p.k.strides[2] + (depth + d) * p.k.strides[3]])
              : A(0);
    }
  }

  __device__ void multiplyKeys(int64_t key, int64_t count) {
    for (int i = 0; i < kRowsOfWarp; ++i)
      for (A &product : products[i])
        product = 0;
    for (int64_t depth = 0; depth < p.depth; depth += kDepth) {
      __syncthreads();
      load(key, count, depth);
      __syncthreads();
#pragma unroll 4
      for (int d = 0; d < kDepth; ++d)
        for (int j = 0; j < kKeysOfLane; ++j) {
          const A factor = memory.keys[lane + j * kWarp][d];
          for (int i = 0; i < kRowsOfWarp; ++i)
            products[i][j] += memory.queries[firstOfWarp + i][d] * factor;
        }
    }
  }

  /// Makes weights of the products, for all of the block to read.
  __device__ void weigh(int piece, int64_t first, int64_t key, int64_t count) {
    constexpr A infinity = std::numeric_limits<A>::infinity();
    __syncthreads();
    for (int i = 0; i < kRowsOfWarp; ++i) {
      const AttentionRow &own = memory.rows[firstOfWarp + i];
      const KeySpan seen = seenKeys(p, piece, first, own.place, own.place);
      bool sees[kKeysOfLane];
      A score[kKeysOfLane], maximum = -infinity;
      for (int j = 0; j < kKeysOfLane; ++j) {
        const int64_t at = key + lane + j * kWarp;
        sees[j] = own.exists && lane + j * kWarp < count && at >= seen.begin &&
                  at < seen.end;
        score[j] = sees[j] ? scoreOf<T>(p, own, products[i][j],
                                        p.keyPieces.places[piece] + at - first)
                           : -infinity;
        maximum =
            score[j] > maximum || score[j] != score[j] ? score[j] : maximum;
      }
      const A factor = stats[i].raise(maximumOfWarp(maximum));
      A sum = 0;
      for (int j = 0; j < kKeysOfLane; ++j) {
        const A weight = sees[j] ? stats[i].weigh(score[j]) : A(0);
        memory.weights[firstOfWarp + i][lane + j * kWarp] = weight;
        sum += weight;
      }
      stats[i].sum += sumOfWarp(sum);
      for (A &value : sums[i])
        value *= factor;
    }
  }

  __device__ void addValues(int64_t key, int64_t count) {
    for (int64_t c0 = 0; c0 < count; c0 += kValueRows) {
      __syncthreads();
      for (int e = threadIdx.x; e < kValueRows * kColumns; e += kThreads) {
        const int c = e / kColumns, column = e % kColumns;
        memory.values[c][column] =
            c0 + c < count && column < width
                ? A(v[(key + c0 + c) * p.v.strides[2] +
                      (block.firstColumn + column) * p.v.strides[3]])
                : A(0);
      }
      __syncthreads();
#pragma unroll 4
      for (int c = 0; c < kValueRows; ++c)
        for (int j = 0; j < kColumnsOfLane; ++j) {
          const A value = memory.values[c][lane + j * kWarp];
          for (int i = 0; i < kRowsOfWarp; ++i)
            sums[i][j] += memory.weights[firstOfWarp + i][c0 + c] * value;
        }
    }
  }

  __device__ void end() const {
    for (int i = 0; i < kRowsOfWarp; ++i) {
      const AttentionRow &own = memory.rows[firstOfWarp + i];
      if (own.exists)
        store<T>(own, block, stats[i], p, lane == 0, [&](auto write) {
          for (int j = 0; j < kColumnsOfLane; ++j)
            if (lane + j * kWarp < width)
              write(lane + j * kWarp, sums[i][j]);
        });
    }
  }

  const AttentionProblem &p;
  const AttentionBlock block;
  TileMemory<A> &memory;
  const int lane, firstOfWarp;
  const T *const k, *const v;
  int64_t width; ///< columns that there are
  A products[kRowsOfWarp][kKeysOfLane];
  A sums[kRowsOfWarp][kColumnsOfLane];
  SeenStats<A> stats[kRowsOfWarp];
};

template <typename T>
__global__ void tileKernel(const __grid_constant__ AttentionProblem problem) {
  TileRows<T>(problem).run();
}

} // namespace

Status attendTiles(const AttentionProblem &problem,
                   artifact::ElementType element, cudaStream_t stream) {
  return host::dispatch(
      host::FloatTypes(), element, "Attention", [&](auto tag) {
        using T = typename decltype(tag)::Type;
        if constexpr (sizeof(T) == 2)
          if (isForCores(problem))
            return attendOnCores<T>(problem, stream);
        return launch(tileKernel<T>,
                      {attentionBlocks(problem, kRows), kWarps * kWarp,
                       sizeof(TileMemory<Acc<T>>), true},
                      stream, problem);
      });
}

} // namespace shardc::runtime::cuda
