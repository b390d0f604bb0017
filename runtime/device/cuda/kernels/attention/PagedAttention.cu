// Attention of rows of any lengths to keys in pages.
#include "runtime/base/Float8.h"
#include "runtime/device/cuda/kernels/Fault.h"
#include "runtime/device/cuda/kernels/attention/AttentionWarps.h"
#include "runtime/device/cuda/kernels/attention/PagedKernels.h"
#include "runtime/kernels/Dispatch.h"

namespace shardc::runtime::cuda {
namespace {

constexpr int kWarps = kWarpsOfFew, kHeads = kRowsOfFew;

/// Where a block stands.
struct PagedBlock {
  int64_t token, kvHead, firstHead, firstColumn;
  int heads;

  __device__ explicit PagedBlock(const PagedProblem &p) {
    int64_t at = blockIdx.x;
    firstColumn = at % p.of.chunks() * kAttentionColumns;
    at /= p.of.chunks();
    const int64_t tiles = (p.group() + kHeads - 1) / kHeads;
    const int64_t firstOfGroup = at % tiles * kHeads;
    const int64_t left = p.group() - firstOfGroup;
    heads = int(left < kHeads ? left : kHeads);
    at /= tiles;
    kvHead = at % p.of.kvHeads;
    firstHead = kvHead * p.group() + firstOfGroup;
    token = at / p.of.kvHeads;
  }
};

dim3 pagedBlocks(const PagedProblem &p) {
  return dim3(static_cast<unsigned>(p.of.queries * p.of.kvHeads *
                                    ((p.group() + kHeads - 1) / kHeads) *
                                    p.of.chunks()));
}

/// The row of a token, and which of its keys that are here the token sees.
struct PagedRow {
  int64_t row = 0;
  KeySpan keys = {0, 0};
  bool exists = false;

  __device__ PagedRow(const PagedProblem &p, int64_t token) {
    // The last row that begins at the token or before it.
    int64_t end = p.rows;
    while (end - row > 1) {
      const int64_t middle = (row + end) / 2;
      (p.first.at(middle) <= token ? row : end) = middle;
    }
    if (p.rows == 0)
      return;
    const int64_t begin = p.first.at(row), next = p.first.at(row + 1);
    exists = begin <= token && token < next;
    if (!exists)
      return;
    const int64_t past = p.past.at(row), place = past + token - begin;
    keys.end = past + next - begin;
    if ((p.of.isCausal ? past : keys.end) < 0 || begin < 0 ||
        keys.end > p.pagesOfRow * p.places.all) {
      report(p.fault);
      keys.end = 0;
    }
    if (p.of.isCausal) {
      keys.end = place + 1 < keys.end ? place + 1 : keys.end;
      if (p.of.window > 0 && place + 1 > p.of.window)
        keys.begin = place + 1 - p.of.window;
    }
    keys.begin = p.places.hereOf(keys.begin);
    keys.end = p.places.hereOf(keys.end);
  }
};

template <typename A> struct WarpOfPages {
  WarpMemory<A> memory;
  int64_t keyAt[kWarp], valueAt[kWarp]; ///< offsets
  float keyScale[kWarp], valueScale[kWarp];
};

/// Eight bits of float that are stored.
struct Float8 {
  uint8_t bits;
  __device__ explicit operator float() const {
    return Float8Decoder(kFloat8E4M3FN)(bits);
  }
};

template <typename A> struct PagedMemory {
  union {
    WarpOfPages<A> warps[kWarps];
    WarpResult<A> results[kWarps / 2];
  };
};

/// Queries of type T, keys and values of type Stored.
template <typename T, typename Stored> class PagedHeads {
  using A = Acc<T>;
  static constexpr bool kHasScales = !std::is_same_v<T, Stored>;

public:
  __device__ explicit PagedHeads(const PagedProblem &p)
      : p(p), block(p), row(p, block.token),
        shared(*reinterpret_cast<PagedMemory<A> *>(sharedMemory())),
        own(shared.warps[warpOfBlock()]), lane(laneOfWarp()),
        width(p.of.columns - block.firstColumn),
        q(elementsOf<T>(p.of.q, 0, block.firstHead) +
          block.token * p.of.q.strides[2]) {}

  __device__ void run() {
    for (int64_t at = row.keys.begin + warpOfBlock() * kWarp; at < row.keys.end;
         at += kWarps * kWarp)
      see(at, row.keys.end - at < kWarp ? int(row.keys.end - at) : kWarp);
    seen.mergeWarps(shared.results);
    if (warpOfBlock() == 0)
      end();
  }

private:
  /// Where the lane's key is; a page that is not there is an error, and its keys
  /// are those of the first one.
  __device__ void locate(int64_t key) {
    const int64_t place = key % p.of.keys;
    int64_t page = p.pages.at(row.row, key / p.of.keys);
    if (page < 0 || page >= p.numPages) {
      report(p.fault);
      page = 0;
    }
    const auto in = [&](const AttentionView &view) {
      return page * view.strides[0] + block.kvHead * view.strides[1] +
             place * view.strides[2];
    };
    own.keyAt[lane] = in(p.of.k);
    own.valueAt[lane] = in(p.of.v);
    if constexpr (kHasScales) {
      const auto scale = [&](const AttentionView &scales) {
        return reinterpret_cast<const float *>(scales.data)[in(scales)];
      };
      own.keyScale[lane] = scale(p.keyScales);
      own.valueScale[lane] = scale(p.valueScales);
    }
  }
  static __device__ A numberOf(Stored stored, float scale) {
    if constexpr (kHasScales)
      return A(float(stored) * scale);
    else
      return A(stored);
  }

  __device__ void load(int count, int64_t depth) {
    constexpr int kChunk = kDepthOfFew<A>;
    for (int e = lane; e < block.heads * kChunk; e += kWarp) {
      const int r = e / kChunk, d = e % kChunk;
      own.memory.queries[r][d] =
          depth + d < p.of.depth
              ? A(q[r * p.of.q.strides[1] + (depth + d) * p.of.q.strides[3]])
              : A(0);
    }
    const Stored *k = reinterpret_cast<const Stored *>(p.of.k.data);
#pragma unroll 8
    for (int e = lane; e < kWarp * kChunk; e += kWarp) {
      const int c = e / kChunk, d = e % kChunk;
      own.memory.keys[c][d] =
          c < count && depth + d < p.of.depth
              ? numberOf(k[own.keyAt[c] + (depth + d) * p.of.k.strides[3]],
                         own.keyScale[c])
              : A(0);
    }
  }

  /// Adds keys [key, key + count), up to one a lane.
  __device__ void see(int64_t key, int count) {
    __syncwarp();
    if (lane < count)
      locate(key + lane);
    A weights[kHeads] = {};
    for (int64_t depth = 0; depth < p.of.depth; depth += kDepthOfFew<A>) {
      __syncwarp();
      load(count, depth);
      __syncwarp();
      seen.multiply(own.memory, block.heads, weights);
    }
    __syncwarp();
#pragma unroll
    for (int r = 0; r < kHeads; ++r)
      if (r < block.heads) {
        const bool sees = lane < count;
        weights[r] = seen.weigh(
            r, sees, sees ? scoreOf(r, weights[r], key + lane) : A(0));
      }
    const Stored *v = reinterpret_cast<const Stored *>(p.of.v.data);
#pragma unroll 2
    for (int c = 0; c < count; ++c) {
      const Stored *from = v + own.valueAt[c];
      seen.add(weights, block.heads, c, [&](int j) {
        const int64_t column = lane + j * kWarp;
        return column < width
                   ? numberOf(
                         from[(block.firstColumn + column) * p.of.v.strides[3]],
                         own.valueScale[c])
                   : A(0);
      });
    }
  }

  __device__ A scoreOf(int r, A product, int64_t key) const {
    const int64_t at = row.row * p.of.mask.strides[0] +
                       (block.firstHead + r) * p.of.mask.strides[1] +
                       block.token * p.of.mask.strides[2] +
                       p.places.keyOf(key) * p.of.mask.strides[3];
    return maskedScore<T>(
        p.of, cappedScore(product * A(p.of.scale), A(p.of.softcap)), at);
  }

  __device__ void end() const {
#pragma unroll
    for (int r = 0; r < kHeads; ++r)
      if (r < block.heads)
        p.of.finishes ? finish(r) : leave(r);
  }

  /// Writes what it has seen; without a row zeros that weigh nothing.
  __device__ void leave(int r) const {
    A *y = reinterpret_cast<A *>(p.of.y.data) +
           (block.firstHead + r) * p.of.y.strides[1] +
           block.token * p.of.y.strides[2];
    for (int j = 0; j < kColumnsOfLane; ++j)
      if (const int64_t column = lane + j * kWarp; column < width)
        y[block.firstColumn + column] = row.exists ? seen.sums[r][j] : A(0);
    if (lane != 0 || block.firstColumn != 0)
      return;
    y[p.of.columns] = row.exists ? seen.stats[r].maximum : A(0);
    y[p.of.columns + 1] = row.exists ? seen.stats[r].sum : A(1);
  }

  __device__ void finish(int r) const {
    const int64_t head = block.firstHead + r;
    const auto result = resultOf<T>(p.of, seen.stats[r], head);
    T *y = reinterpret_cast<T *>(p.of.y.data) + head * p.of.y.strides[1] +
           block.token * p.of.y.strides[2];
    for (int j = 0; j < kColumnsOfLane; ++j)
      if (const int64_t column = lane + j * kWarp; column < width)
        y[(block.firstColumn + column) * p.of.y.strides[3]] =
            row.exists ? T(result.of(seen.sums[r][j])) : T(A(0));
  }

  const PagedProblem &p;
  const PagedBlock block;
  const PagedRow row;
  PagedMemory<A> &shared;
  WarpOfPages<A> &own;
  const int lane;
  const int64_t width;
  const T *const q;
  SeenRows<A> seen;
};

template <typename T, typename Stored>
__global__ void pagedKernel(const __grid_constant__ PagedProblem problem) {
  PagedHeads<T, Stored>(problem).run();
}

/// Rows follow each other, and end with the tokens at the latest.
__global__ void checkRowsKernel(const __grid_constant__ PagedProblem p) {
  for (int64_t i = firstElement(); i <= p.rows; i += allThreads())
    if (p.first.at(i) < (i == 0 ? 0 : p.first.at(i - 1)) ||
        p.first.at(i) > p.of.queries)
      report(p.fault);
}

template <typename T, typename Stored>
Status launchPages(const PagedProblem &problem, cudaStream_t stream) {
  return launch(
      pagedKernel<T, Stored>,
      {pagedBlocks(problem), kWarps * kWarp, sizeof(PagedMemory<Acc<T>>), true},
      stream, problem);
}

} // namespace

Status attendPages(const PagedProblem &problem, artifact::ElementType element,
                   artifact::ElementType stored, cudaStream_t stream) {
  SHARDC_RETURN_IF_ERROR(launch(checkRowsKernel,
                                {dim3(blocksFor(problem.rows + 1)), kThreads},
                                stream, problem));
  return host::dispatch(
      host::FloatTypes(), element, "PagedAttention", [&](auto tag) {
        using T = typename decltype(tag)::Type;
        return !problem.keyScales.data ? launchPages<T, T>(problem, stream)
               : stored == artifact::ElementType_Int8
                   ? launchPages<T, int8_t>(problem, stream)
                   : launchPages<T, Float8>(problem, stream);
      });
}

} // namespace shardc::runtime::cuda
