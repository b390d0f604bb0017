//===- AttentionDevice.h - Rows of attention as kernels see them ----------===//
#ifndef SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_ATTENTION_ATTENTIONDEVICE_H
#define SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_ATTENTION_ATTENTIONDEVICE_H

#include "runtime/device/cuda/kernels/Warp.h"
#include "runtime/device/cuda/kernels/attention/AttentionKernels.h"
#include "runtime/kernels/StorageTypes.h"

namespace shardc::runtime::cuda {

/// What T is summed in.
template <typename T> using Acc = host::Compute<T>;

template <typename T>
__device__ const T *elementsOf(const AttentionView &view, int64_t batch,
                               int64_t head) {
  return reinterpret_cast<const T *>(view.data) + batch * view.strides[0] +
         head * view.strides[1];
}

/// Where a block stands.
struct AttentionBlock {
  int64_t batch, kvHead, firstRow, firstColumn = 0, split = 0;

  /// With tiles of so many rows, chunks of columns, and splits.
  __device__ AttentionBlock(const AttentionProblem &p, int64_t rowsOfTile) {
    int64_t at = blockIdx.x;
    split = at % p.splits;
    at /= p.splits;
    const int64_t chunks = p.chunks();
    firstColumn = at % chunks * kAttentionColumns;
    setTile(p, at / chunks, rowsOfTile);
  }
  /// One row, whole.
  __device__ explicit AttentionBlock(const AttentionProblem &p) {
    setTile(p, blockIdx.x, 1);
  }

private:
  __device__ void setTile(const AttentionProblem &p, int64_t at,
                          int64_t rowsOfTile) {
    const int64_t tiles = p.tiles(rowsOfTile);
    firstRow = at % tiles * rowsOfTile;
    at /= tiles;
    kvHead = at % p.kvHeads;
    batch = at / p.kvHeads;
  }
};

/// As many as AttentionBlock tells apart.
inline dim3 attentionBlocks(const AttentionProblem &p, int64_t rowsOfTile) {
  return dim3(static_cast<unsigned>(
      p.batches * p.kvHeads * p.tiles(rowsOfTile) * p.chunks() * p.splits));
}

/// Keys [begin, end) of those that are here.
struct KeySpan {
  int64_t begin, end;
};

/// Keys of a piece that queries at places [lowest, highest] see, but for the
/// mask.
inline __device__ KeySpan seenKeys(const AttentionProblem &p, int piece,
                                   int64_t first, int64_t lowest,
                                   int64_t highest) {
  const int64_t size = p.keyPieces.sizes[piece];
  if (!p.isCausal)
    return {first, first + size};
  int64_t begin = p.window > 0 ? lowest + 1 - p.window : 0;
  int64_t end = highest + 1;
  begin -= p.keyPieces.places[piece];
  end -= p.keyPieces.places[piece];
  begin = begin < 0 ? 0 : begin > size ? size : begin;
  end = end < begin ? begin : end > size ? size : end;
  return {first + begin, first + end};
}

/// Places of the queries [begin, end) of those that are here: lowest, highest.
inline __device__ KeySpan placesOf(const AttentionProblem &p, int64_t begin,
                                   int64_t end) {
  constexpr int64_t kFar = int64_t{1} << 62;
  KeySpan places = {kFar, -kFar};
  int64_t first = 0;
  for (int i = 0; i < p.queryPieces.count; ++i) {
    const int64_t last = first + p.queryPieces.sizes[i];
    const int64_t from = begin > first ? begin : first;
    const int64_t to = end < last ? end : last;
    if (from < to) {
      const int64_t shift = p.queryPieces.places[i] + p.causalOffset - first;
      places.begin = from + shift < places.begin ? from + shift : places.begin;
      places.end = to - 1 + shift > places.end ? to - 1 + shift : places.end;
    }
    first = last;
  }
  return places;
}

/// One row, and whether there is such a one.
struct AttentionRow {
  bool exists;
  int64_t batch, head, query;
  int64_t place;           ///< of the query, behind all keys that precede it
  int64_t queryAt, maskAt; ///< offsets

  __device__ AttentionRow(const AttentionProblem &p,
                          const AttentionBlock &block, int64_t row) {
    exists = row < p.rowsOfHead();
    row = exists ? row : 0;
    batch = block.batch;
    head = block.kvHead * (p.heads / p.kvHeads) + row / p.queries;
    query = row % p.queries;
    place = placesOf(p, query, query + 1).begin;
    queryAt = in(p.q);
    maskAt = in(p.mask);
  }

  __device__ int64_t in(const AttentionView &view) const {
    return batch * view.strides[0] + head * view.strides[1] +
           query * view.strides[2];
  }
};

/// A product within the cap of scores.
template <typename A> __device__ A cappedScore(A score, A softcap) {
  return softcap > 0 ? softcap * host::hyperbolicTangent(score / softcap)
                     : score;
}

/// With what the mask's element at an offset says of the key.
template <typename T>
__device__ Acc<T> maskedScore(const AttentionProblem &p, Acc<T> score,
                              int64_t at) {
  using A = Acc<T>;
  constexpr A infinity = std::numeric_limits<A>::infinity();
  if (p.maskKind == AttentionMask::None)
    return score;
  if (p.maskKind == AttentionMask::Shown)
    return reinterpret_cast<const host::Boolean *>(p.mask.data)[at] ? score
                                                                    : -infinity;
  // A narrow type's scores are of that type, as its mask is.
  const A bias = A(reinterpret_cast<const T *>(p.mask.data)[at]);
  return bias == -infinity ? bias : A(T(A(T(score)) + bias));
}

/// The score of a key at a place of the whole sequence.
template <typename T>
__device__ Acc<T> scoreOf(const AttentionProblem &p, const AttentionRow &row,
                          Acc<T> product, int64_t keyPlace) {
  using A = Acc<T>;
  return maskedScore<T>(p, cappedScore(product * A(p.scale), A(p.softcap)),
                        row.maskAt + keyPlace * p.mask.strides[3]);
}

/// What a row has seen, as its threads hold it, under a growing maximum.
template <typename A> struct SeenStats {
  A maximum = -std::numeric_limits<A>::infinity(), sum = 0;

  /// The factor for what was added up so far. NaN stays.
  __device__ A raise(A to) {
    if (maximum > to || maximum != maximum)
      to = maximum;
    const A factor = maximum == to ? A(1) : host::exponential(maximum - to);
    maximum = to;
    sum *= factor;
    return factor;
  }
  __device__ A weigh(A score) const {
    return maximum == -std::numeric_limits<A>::infinity()
               ? A(0)
               : host::exponential(score - maximum);
  }
};

/// Adds what other keys gave the same row.
template <typename A, int n, typename ValueOf>
__device__ void addState(SeenStats<A> &seen, A (&sums)[n], A maximum, A sum,
                         ValueOf valueOf) {
  const A own = seen.raise(maximum);
  const A theirs = maximum == seen.maximum
                       ? A(1)
                       : host::exponential(maximum - seen.maximum);
  seen.sum += sum * theirs;
  for (int j = 0; j < n; ++j)
    sums[j] = sums[j] * own + valueOf(j) * theirs;
}

template <typename T>
__device__ host::RowResult<Acc<T>> resultOf(const AttentionProblem &p,
                                            const SeenStats<Acc<T>> &seen,
                                            int64_t head) {
  const Acc<T> sink =
      p.sinks
          ? Acc<T>(reinterpret_cast<const T *>(p.sinks)[head * p.sinkStride])
          : -std::numeric_limits<Acc<T>>::infinity();
  return {seen.maximum, seen.sum, sink, p.zeroRows};
}

/// What a row has seen before, of the columns that a lane has.
template <typename A, int n>
__device__ void loadState(const AttentionRow &row, const AttentionBlock &block,
                          const AttentionProblem &p, int64_t width,
                          SeenStats<A> &seen, A (&sums)[n]) {
  const A *stats =
      reinterpret_cast<const A *>(p.state.stats.data) + row.in(p.state.stats);
  const A *values = reinterpret_cast<const A *>(p.state.values.data) +
                    row.in(p.state.values) + block.firstColumn;
  seen.maximum = stats[0];
  seen.sum = stats[1];
  for (int j = 0; j < n; ++j)
    if (const int column = laneOfWarp() + j * kWarp; column < width)
      sums[j] = values[column];
}

/// Leaves what a row has seen: as its result, or as a state for later. A lane
/// calls write(column of the block, value) for the columns that it has; one of
/// those that have the row is the first.
template <typename T, typename ForEachColumn>
__device__ void store(const AttentionRow &row, const AttentionBlock &block,
                      const SeenStats<Acc<T>> &seen, const AttentionProblem &p,
                      bool isFirst, ForEachColumn forEachColumn) {
  if (p.finishes) {
    const auto result = resultOf<T>(p, seen, row.head);
    T *y = reinterpret_cast<T *>(p.y.data) + row.in(p.y);
    forEachColumn([&](int64_t column, Acc<T> value) {
      y[(block.firstColumn + column) * p.y.strides[3]] = T(result.of(value));
    });
    return;
  }
  Acc<T> *values = reinterpret_cast<Acc<T> *>(p.state.values.data) +
                   row.in(p.state.values) + block.split * p.state.valueStep;
  forEachColumn([&](int64_t column, Acc<T> value) {
    values[block.firstColumn + column] = value;
  });
  if (block.firstColumn == 0 && isFirst) {
    Acc<T> *stats = reinterpret_cast<Acc<T> *>(p.state.stats.data) +
                    row.in(p.state.stats) + block.split * p.state.statStep;
    stats[0] = seen.maximum;
    stats[1] = seen.sum;
  }
}

} // namespace shardc::runtime::cuda

#endif // SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_ATTENTION_ATTENTIONDEVICE_H
