//===- AttentionSlices.h - Keys and values on their way to tensor cores ---===//
//
// What AttentionCores.cu multiplies, 64x64 halves at a time: which keys a block
// walks over, and how they come to shared memory before it is their turn.
//
// A line of 64 halves is 8 chunks of 16 bytes, chunk c of line r being where
// c ^ r % 8 would be: the same chunk of 8 lines, from which a warp loads at
// once, is in 8 places of the banks.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_ATTENTION_ATTENTIONSLICES_H
#define SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_ATTENTION_ATTENTIONSLICES_H

#include "runtime/device/cuda/kernels/attention/AttentionDevice.h"
#include "runtime/device/cuda/kernels/product/WarpMatrices.h"

namespace shardc::runtime::cuda::attention {

inline constexpr int kCoreThreads = 128;
inline constexpr int kRows = kCoreThreads / kWarp * kCore, kKeys = 64;
inline constexpr int kSliceLength = 64, kChunk = 8;
inline constexpr int kStages = 4; ///< slices that are there, or on their way
static_assert(kRows == kKeys, "queries lie as keys do");

/// The tiles of keys that some row of a block sees, one after the other. Keys
/// have 32-bit numbers: no GPU has memory for more.
class KeyTiles {
public:
  /// What all threads of a block know alike, of which none has to keep a copy.
  struct Limits {
    KeySpan places; ///< of the block's queries
    KeySpan mine;   ///< keys of its split
  };

  __device__ KeyTiles(const AttentionProblem &p, const Limits &limits)
      : p(p), limits(limits) {
    setSpan();
    skipEmpty();
  }

  __device__ bool exists() const { return piece < p.keyPieces.count; }
  __device__ void next() {
    at += kKeys;
    skipEmpty();
  }

  /// Of those keys that are here.
  __device__ int begin() const { return at; }
  __device__ int count() const { return end - at < kKeys ? end - at : kKeys; }
  /// Of the first one, in the whole sequence.
  __device__ int64_t place() const {
    return p.keyPieces.places[piece] + at - first;
  }
  /// Keys of the tile, counted from its first one.
  __device__ KeySpan seenBy(const AttentionRow &row) const {
    const KeySpan seen = seenKeys(p, piece, first, row.place, row.place);
    const int64_t last = count();
    const auto within = [&](int64_t key) {
      return key < at ? 0 : key - at < last ? key - at : last;
    };
    return {within(seen.begin), within(seen.end)};
  }

private:
  __device__ void setSpan() {
    if (!exists())
      return;
    const KeySpan seen =
        seenKeys(p, piece, first, limits.places.begin, limits.places.end);
    at = int(seen.begin > limits.mine.begin ? seen.begin : limits.mine.begin);
    end = int(seen.end < limits.mine.end ? seen.end : limits.mine.end);
  }
  __device__ void skipEmpty() {
    while (exists() && at >= end) {
      first += int(p.keyPieces.sizes[piece++]);
      setSpan();
    }
  }

  const AttentionProblem &p;
  const Limits &limits;
  int piece = 0;
  int first = 0; ///< keys of the pieces before this one
  int at = 0, end = 0;
};

/// What lines of a slice are loaded from.
template <typename T> struct SliceLines {
  const T *data;
  int64_t lineStride, stride, length;
  bool hasRuns; ///< all chunks are whole, and aligned to their size

  __device__ SliceLines(const AttentionView &view, const T *data,
                        int64_t length)
      : data(data), lineStride(view.strides[2]), stride(view.strides[3]),
        length(length) {
    int64_t misfit = length | lineStride | view.strides[0] | view.strides[1];
    hasRuns = stride == 1 && misfit % kChunk == 0 &&
              reinterpret_cast<uintptr_t>(view.data) % 16 == 0;
  }
};

/// Of a block. Registers are for what is multiplied.
template <typename T> struct SliceMemory {
  T stages[kStages][kKeys][kSliceLength];
  AttentionRow rows[kRows];
  AttentionBlock block;
  KeyTiles::Limits limits;
  SliceLines<T> keys, values;

  /// All threads come.
  __device__ void fill(const AttentionProblem &p) {
    if (threadIdx.x == 0) {
      block = AttentionBlock(p, kRows);
      limits = {placesOfTile(p, block),
                {p.keys * block.split / p.splits,
                 p.keys * (block.split + 1) / p.splits}};
      keys = SliceLines<T>(p.k, elementsOf<T>(p.k, block.batch, block.kvHead),
                           p.depth);
      values = SliceLines<T>(p.v,
                             elementsOf<T>(p.v, block.batch, block.kvHead) +
                                 block.firstColumn * p.v.strides[3],
                             p.columns - block.firstColumn);
    }
    __syncthreads();
    if (threadIdx.x < kRows)
      rows[threadIdx.x] = AttentionRow(p, block, block.firstRow + threadIdx.x);
    __syncthreads();
  }

private:
  static __device__ KeySpan placesOfTile(const AttentionProblem &p,
                                         const AttentionBlock &block) {
    const int64_t rows = p.rowsOfHead();
    const int64_t begin = block.firstRow, last = begin + kRows;
    const int64_t end = last < rows ? last : rows;
    const int64_t query = begin % p.queries;
    return query + (end - begin) <= p.queries
               ? placesOf(p, query, query + (end - begin))
               : placesOf(p, 0, p.queries);
  }
};

template <typename T> class Slices {
public:
  const int depthSlices, columnSlices; ///< that each tile has

  /// What memory holds has been filled.
  __device__ Slices(const AttentionProblem &p, SliceMemory<T> &memory)
      : depthSlices(slicesOf(p.depth)),
        columnSlices(slicesOf(memory.values.length < kAttentionColumns
                                  ? memory.values.length
                                  : kAttentionColumns)),
        p(p), memory(memory), loading(p, memory.limits) {}

  /// From the first one on; before anything is loaded.
  __device__ const KeyTiles &tiles() const { return loading; }

  __device__ const T *at(int stage, int line, int chunk) const {
    return &memory.stages[stage][line][placeOf(line, chunk)];
  }

  /// To stages 0, 1, ...; then they are there.
  __device__ void loadQueries() {
    const SliceLines<T> queries(p.q, reinterpret_cast<const T *>(p.q.data),
                                p.depth);
    for (int s = 0; s < depthSlices; ++s) {
      const Share mine(queries, s);
#pragma unroll 1
      for (int line = mine.line; line < kRows; line += Share::kApart) {
        const AttentionRow &row = memory.rows[line];
        load(s, line, mine, queries, queries.data + row.queryAt + mine.from,
             row.exists);
      }
    }
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
  }

  /// Those have been read by this thread.
  __device__ void begin() {
    __syncthreads();
    for (int i = 0; i < kStages - 1; ++i)
      loadNext();
  }

  /// Waits for the next slice: its stage. The one before it has been read.
  __device__ int take() {
    __pipeline_wait_prior(kStages - 2);
    __syncthreads();
    loadNext();
    const int stage = taken;
    taken = (taken + 1) % kStages;
    return stage;
  }

private:
  static __device__ int slicesOf(int64_t length) {
    return int((length + kSliceLength - 1) / kSliceLength);
  }
  static __device__ int placeOf(int line, int chunk) {
    return (chunk ^ line % 8) * kChunk;
  }

  /// Of a slice, this thread's chunk of lines.
  struct Share {
    static constexpr int kChunks = kSliceLength / kChunk;
    static constexpr int kApart = kCoreThreads / kChunks; ///< lines
    const int line, chunk;
    int64_t from, left; ///< elements of a line before the chunk, and from there

    __device__ Share(const SliceLines<T> &lines, int slice)
        : line(int(threadIdx.x) / kChunks), chunk(int(threadIdx.x) % kChunks) {
      from = int64_t{slice} * kSliceLength + chunk * kChunk;
      left = lines.length - from;
      from *= lines.stride;
    }
  };

  /// The next slice begins to come.
  __device__ void loadNext() {
    if (loading.exists()) {
      const bool isKeys = slice < depthSlices;
      const SliceLines<T> &lines = isKeys ? memory.keys : memory.values;
      const Share mine(lines, isKeys ? slice : slice - depthSlices);
      const T *from = lines.data + mine.from +
                      (int64_t{loading.begin()} + mine.line) * lines.lineStride;
      const int64_t step = Share::kApart * lines.lineStride;
      const int count = loading.count();
#pragma unroll 1 // for want of registers
      for (int line = mine.line; line < kKeys; line += Share::kApart) {
        load(loaded, line, mine, lines, from, line < count);
        from += step;
      }
      if (++slice == depthSlices + columnSlices) {
        slice = 0;
        loading.next();
      }
    }
    __pipeline_commit();
    loaded = (loaded + 1) % kStages;
  }

  __device__ void load(int stage, int line, const Share &mine,
                       const SliceLines<T> &lines, const T *from,
                       bool isThere) {
    T *to = &memory.stages[stage][line][placeOf(line, mine.chunk)];
    if (lines.hasRuns)
      copyAside(to, from, isThere && mine.left > 0);
    else
      loadElements(to, from, lines.stride, isThere ? mine.left : 0);
  }
  static __device__ void loadElements(T *to, const T *from, int64_t stride,
                                      int64_t count) {
#pragma unroll 1
    for (int e = 0; e < kChunk; ++e)
      to[e] = e < count ? from[e * stride] : T(0.f);
  }

  const AttentionProblem &p;
  SliceMemory<T> &memory;
  KeyTiles loading;
  int slice = 0;             ///< of that tile, which comes next
  int loaded = 0, taken = 0; ///< stages
};

} // namespace shardc::runtime::cuda::attention

#endif // SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_ATTENTION_ATTENTIONSLICES_H
