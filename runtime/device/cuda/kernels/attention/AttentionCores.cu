//===- AttentionCores.cu - Attention of halves on tensor cores ------------===//
//
// Of halves: a block has 64 rows, a warp 16 of them, and walks over tiles of 64
// keys. Keys and values come to shared memory in slices of 64x64, copied beside
// the threads while three that came before are multiplied:
//
//   head of 96, values of 128     K[:, 0:64]  K[:, 64:96]  V[:, 0:64]
//                                 V[:, 64:128], then those of the next 64 keys
//
// Queries stay in registers; so do scores, which become weights, rounded to T,
// where the product with the values wants them (WarpMatrices.h). All sums are
// of f32, the weights' own sum is of what they were before.
//
// A step of decoding has fewer rows than a warp. What takes time then is to
// read keys and values: three slices of each block are on their way at any
// time, and keys are split over blocks.
//
//===----------------------------------------------------------------------===//
#include "runtime/device/cuda/kernels/attention/AttentionSlices.h"

#include <cmath>

namespace shardc::runtime::cuda {
namespace {

using namespace attention;

template <typename T, int kDepthSlices, int kColumnSlices> class CoreRowsOf {
  static constexpr int kSteps = kSliceLength / kCore; ///< of 16, in a slice

public:
  explicit __device__ CoreRowsOf(const AttentionProblem &p)
      : p(p), memory(*reinterpret_cast<SliceMemory<T> *>(sharedMemory())),
        slices(p, filled(p, memory)), lane(laneOfWarp()),
        firstRow(warpOfBlock() * kCore + lane / 4), pair(lane % 4 * 2) {}

  __device__ void run() {
    loadQueries();
    begin();
    KeyTiles tile = slices.tiles();
    slices.begin();
    for (; tile.exists(); tile.next()) {
      multiplyKeys();
      if (hasRows())
        weigh(tile);
      addValues();
    }
    end();
  }

private:
  static __device__ SliceMemory<T> &filled(const AttentionProblem &p,
                                           SliceMemory<T> &memory) {
    memory.fill(p);
    return memory;
  }

  __device__ void loadQueries() {
    slices.loadQueries();
#pragma unroll
    for (int s = 0; s < kDepthSlices; ++s)
#pragma unroll
      for (int i = 0; i < kSteps; ++i)
        if (s < slices.depthSlices)
          loadMatrices(queries[s][i],
                       slices.at(s, warpOfBlock() * kCore + lane % 16,
                                 2 * i + lane / 16));
  }

  __device__ const AttentionRow &row(int i) const {
    return memory.rows[firstRow + 8 * i];
  }
  /// Few rows leave warps that only load. Of the largest heads they multiply
  /// nothing, for want of a register to know.
  __device__ bool hasRows() const {
    return kDepthSlices > 2 || memory.rows[warpOfBlock() * kCore].exists;
  }
  /// Of sums j, the column of the block.
  __device__ int columnOf(int j, int e) const { return j * 8 + pair + e; }
  /// Columns that there are.
  __device__ int width() const {
    const int64_t left = memory.values.length;
    return left < kAttentionColumns ? int(left) : int(kAttentionColumns);
  }

  __device__ void begin() {
#pragma unroll
    for (int j = 0; j < kSums; ++j)
#pragma unroll
      for (float &sum : sums[j])
        sum = 0;
#pragma unroll
    for (int i = 0; i < 2; ++i)
      if (p.continues && row(i).exists)
        loadSeen(i);
  }

  /// What a row has seen before; its sum is the first lane's.
  __device__ void loadSeen(int i) {
    const float *stats = reinterpret_cast<const float *>(p.state.stats.data) +
                         row(i).in(p.state.stats);
    const float *values = reinterpret_cast<const float *>(p.state.values.data) +
                          row(i).in(p.state.values) + memory.block.firstColumn;
    const int columns = width();
    seen[i].maximum = stats[0];
    seen[i].sum = pair == 0 ? stats[1] : 0;
#pragma unroll
    for (int j = 0; j < kSums; ++j)
#pragma unroll
      for (int e = 0; e < 2; ++e)
        if (columnOf(j, e) < columns)
          sums[j][2 * i + e] = values[columnOf(j, e)];
  }

  __device__ void multiplyKeys() {
#pragma unroll
    for (int j = 0; j < kScores; ++j)
#pragma unroll
      for (float &score : scores[j])
        score = 0;
    const int key = lane % 8 + lane / 16 * 8, chunk = lane / 8 % 2;
    const bool works = hasRows();
#pragma unroll
    for (int s = 0; s < kDepthSlices; ++s) {
      if (s >= slices.depthSlices)
        break;
      const int stage = slices.take();
#pragma unroll
      for (int i = 0; i < kSteps; ++i) {
        if (s * kSliceLength + i * kCore >= p.depth || !works)
          break;
#pragma unroll
        for (int j = 0; j < kScores; j += 2) {
          uint32_t keys[4];
          loadMatrices(keys, slices.at(stage, j * 8 + key, 2 * i + chunk));
          multiplyAdd<T>(scores[j], queries[s][i], keys[0], keys[1]);
          multiplyAdd<T>(scores[j + 1], queries[s][i], keys[2], keys[3]);
        }
      }
    }
  }

  /// Products become weights, each row's under the maximum of all it has seen.
  __device__ void weigh(const KeyTiles &tile) {
#pragma unroll
    for (int j = 0; j < kScores; ++j)
#pragma unroll
      for (float &score : scores[j])
        score *= float(p.scale);
    if (p.softcap > 0)
#pragma unroll
      for (int j = 0; j < kScores; ++j)
#pragma unroll
        for (float &score : scores[j])
          score = cappedScore(score, float(p.softcap));
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      hideAndMask(tile, i);
      weighRow(i);
    }
#pragma unroll
    for (int j = 0; j < kScores; ++j) {
      weights[j / 2][j % 2 * 2] = twoHalves<T>(scores[j][0], scores[j][1]);
      weights[j / 2][j % 2 * 2 + 1] = twoHalves<T>(scores[j][2], scores[j][3]);
    }
  }

  __device__ void hideAndMask(const KeyTiles &tile, int i) {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    const AttentionRow &own = row(i);
    const KeySpan span = tile.seenBy(own);
    const int from = int(span.begin), to = own.exists ? int(span.end) : 0;
#pragma unroll
    for (int j = 0; j < kScores; ++j)
#pragma unroll
      for (int e = 0; e < 2; ++e)
        if (columnOf(j, e) < from || columnOf(j, e) >= to)
          scores[j][2 * i + e] = -infinity;
    if (p.maskKind == AttentionMask::None)
      return;
    int64_t at = own.maskAt + (tile.place() + pair) * p.mask.strides[3];
#pragma unroll
    for (int j = 0; j < kScores; ++j, at += 8 * p.mask.strides[3])
#pragma unroll
      for (int e = 0; e < 2; ++e)
        if (columnOf(j, e) >= from && columnOf(j, e) < to)
          scores[j][2 * i + e] = maskedScore<T>(p, scores[j][2 * i + e],
                                                at + e * p.mask.strides[3]);
  }

  __device__ void weighRow(int i) {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    constexpr float log2e = 1.44269504f;
    float maximum = -infinity;
#pragma unroll
    for (int j = 0; j < kScores; ++j)
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const float score = scores[j][2 * i + e];
        maximum = score > maximum || score != score ? score : maximum;
      }
    // A row is that of 4 lanes.
    for (int mask = 1; mask < 4; mask *= 2) {
      const float other = __shfl_xor_sync(kAllLanes, maximum, mask);
      maximum = other > maximum || other != other ? other : maximum;
    }
    const float factor = seen[i].raise(maximum);
#pragma unroll
    for (int j = 0; j < kSums; ++j)
#pragma unroll
      for (int e = 0; e < 2; ++e)
        sums[j][2 * i + e] *= factor;
    const float base = seen[i].maximum == -infinity ? 0 : seen[i].maximum;
#pragma unroll
    for (int j = 0; j < kScores; ++j)
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        float &weight = scores[j][2 * i + e];
        weight = exp2f((weight - base) * log2e);
        seen[i].sum += weight;
      }
  }

  __device__ void addValues() {
    const int key = lane % 16, chunk = lane / 16;
    const bool works = hasRows();
#pragma unroll
    for (int s = 0; s < kColumnSlices; ++s) {
      if (s >= slices.columnSlices)
        break;
      const int stage = slices.take();
      if (!works)
        continue;
#pragma unroll
      for (int i = 0; i < kSteps; ++i)
#pragma unroll
        for (int j = 0; j < kSteps; ++j) {
          uint32_t values[4];
          loadTransposed(values,
                         slices.at(stage, i * kCore + key, 2 * j + chunk));
          const int first = s * kSliceLength / 8 + 2 * j;
          multiplyAdd<T>(sums[first], weights[i], values[0], values[1]);
          multiplyAdd<T>(sums[first + 1], weights[i], values[2], values[3]);
        }
    }
  }

  __device__ void end() {
    const int columns = width();
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      for (int mask = 1; mask < 4; mask *= 2)
        seen[i].sum += __shfl_xor_sync(kAllLanes, seen[i].sum, mask);
      if (!row(i).exists)
        continue;
      store<T>(row(i), memory.block, seen[i], p, pair == 0, [&](auto write) {
#pragma unroll
        for (int j = 0; j < kSums; ++j)
#pragma unroll
          for (int e = 0; e < 2; ++e)
            if (columnOf(j, e) < columns)
              write(columnOf(j, e), sums[j][2 * i + e]);
      });
    }
  }

  static constexpr int kScores = kKeys / 8;
  static constexpr int kSums = kColumnSlices * kSliceLength / 8;

  const AttentionProblem &p;
  SliceMemory<T> &memory;
  Slices<T> slices;
  const int lane, firstRow, pair; ///< pair: the lane's first column of 8
  uint32_t queries[kDepthSlices][kSteps][4];
  float scores[kScores][4]; ///< later weights
  uint32_t weights[kKeys / kCore][4];
  float sums[kSums][4];
  SeenStats<float> seen[2];
};

template <typename T, int kDepthSlices, int kColumnSlices>
__global__ __launch_bounds__(kCoreThreads, 2) // of an SM, that wait in turn
    void coresKernel(const __grid_constant__ AttentionProblem problem) {
  CoreRowsOf<T, kDepthSlices, kColumnSlices>(problem).run();
}

template <typename T, int kDepthSlices, int kColumnSlices>
Status launchSlices(const AttentionProblem &problem, cudaStream_t stream) {
  return launch(coresKernel<T, kDepthSlices, kColumnSlices>,
                {attentionBlocks(problem, kRows), kCoreThreads,
                 sizeof(SliceMemory<T>), true},
                stream, problem);
}

} // namespace

template <typename T>
Status attendOnCores(const AttentionProblem &problem, cudaStream_t stream) {
  const int64_t depth = problem.depth;
  if (depth <= kSliceLength && problem.columns <= kSliceLength)
    return launchSlices<T, 1, 1>(problem, stream);
  return depth <= 2 * kSliceLength ? launchSlices<T, 2, 2>(problem, stream)
                                   : launchSlices<T, 4, 2>(problem, stream);
}
template Status attendOnCores<host::Float16>(const AttentionProblem &,
                                             cudaStream_t);
template Status attendOnCores<host::BFloat16>(const AttentionProblem &,
                                              cudaStream_t);

} // namespace shardc::runtime::cuda
