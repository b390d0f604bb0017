//===- TopKSelect.h - The first k of a row by their bits ------------------===//
//
// A block a row. What comes first has the larger key; keys are numbers of as
// many bits as elements have. The k-th key is found 8 bits at a time, each by
// counting how often each value of these occurs among keys that begin with what
// is known. Of k = 3 of the keys 0x72 0x15 0x7a 0x71 0x16:
//
//   upper digit   3 keys have 7: these are all, the limit is 0x70
//
// Where more keys than wanted are equal to the last one, indices are searched
// for in the same way. The chosen ones are then sorted in shared memory.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_INDEX_TOPKSELECT_H
#define SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_INDEX_TOPKSELECT_H

#include "runtime/device/cuda/kernels/Warp.h"
#include "runtime/device/cuda/kernels/layout/Nest.h"
#include "runtime/kernels/StorageTypes.h"

#include <bit>

namespace shardc::runtime::cuda {

struct TopKRow {
  int64_t count, stride;
  int64_t k, valueStride, indexStride;
  bool largest;
};

inline constexpr int kMostSelected = 2048; ///< that are sorted
inline constexpr int kSelectThreads = 1024;

template <int kBytes>
using KeyBits = std::conditional_t<
    kBytes == 8, uint64_t,
    std::conditional_t<kBytes == 4, uint32_t,
                       std::conditional_t<kBytes == 2, uint16_t, uint8_t>>>;

/// The order of host::comesBefore, but for indices.
template <typename T> __device__ KeyBits<sizeof(T)> keyOf(T x, bool largest) {
  using C = host::Compute<T>;
  using Key = KeyBits<sizeof(T)>;
  constexpr Key kSign = Key(Key(1) << (8 * sizeof(T) - 1));
  Key key = std::bit_cast<Key>(x);
  if constexpr (std::is_floating_point_v<C>) {
    if (C(x) != C(x))
      key = Key(~Key(0)); // all NaN are alike
    else if (C(x) == 0)
      key = kSign; // and so are zeros
    else
      key = Key(key & kSign ? ~key : key | kSign);
  } else if constexpr (std::is_signed_v<C>) {
    key = Key(key ^ kSign);
  }
  return largest ? key : Key(~key);
}

template <typename Key> struct SelectMemory {
  static constexpr int kDigits = 256;
  Key keys[kMostSelected];
  int32_t indices[kMostSelected];
  int32_t counts[kDigits];
  int32_t digit, before, chosen; ///< the digit, how many have a larger one
};

/// Of one row.
template <typename T> class TopKSelect {
  using Key = KeyBits<sizeof(T)>;
  using Memory = SelectMemory<Key>;

public:
  __device__ TopKSelect(const T *x, const TopKRow &row)
      : x(x), row(row), memory(*reinterpret_cast<Memory *>(sharedMemory())) {}

  __device__ void run(T *values, int64_t *indices) {
    __syncthreads(); // the row before has been written
    if (threadIdx.x == 0)
      memory.chosen = 0;
    if (row.count > kMostSelected)
      findLimits();
    __syncthreads();
    const int count = collect();
    sort(count);
    for (int i = threadIdx.x; i < row.k; i += blockDim.x) {
      const int64_t index = memory.indices[i];
      values[i * row.valueStride] = x[index * row.stride]; // NaN keeps its bits
      indices[i * row.indexStride] = index;
    }
  }

private:
  __device__ Key keyAt(int64_t i) const {
    return keyOf(x[i * row.stride], row.largest);
  }
  __device__ bool isChosen(Key key, int32_t index) const {
    return key > limit || (key == limit && index <= lastIndex);
  }

  __device__ void findLimits() {
    int32_t need = int32_t(row.k);
    Key mask = 0;
    for (int shift = 8 * (int(sizeof(T)) - 1); shift >= 0; shift -= 8) {
      const int digit = findDigit(need, [&](int32_t i, int &value) {
        const Key key = keyAt(i);
        value = int(key >> shift) & 255;
        return (key & mask) == limit;
      });
      limit = Key(limit | Key(Key(digit) << shift));
      mask = Key(mask | Key(Key(255) << shift));
      if (need == 0)
        return; // all that begin so
    }
    int shift = 0;
    while ((row.count - 1) >> shift >= 256)
      shift += 8;
    lastIndex = 0;
    for (int32_t known = 0; shift >= 0; shift -= 8) {
      const int digit = findDigit(need, [&](int32_t i, int &value) {
        value = 255 - ((i >> shift) & 255); // the lowest come first
        return (i & known) == lastIndex && keyAt(i) == limit;
      });
      lastIndex |= (255 - digit) << shift;
      known |= 255 << shift;
      if (need == 0) {
        lastIndex |= (1 << shift) - 1;
        return;
      }
    }
  }

  /// The largest digit so that `need` have it or a larger one; then `need` is
  /// how many of those that have it are wanted, or 0 if all are.
  /// isCounted(i, digit) says whether element i is, and its digit.
  template <typename IsCounted>
  __device__ int findDigit(int32_t &need, IsCounted isCounted) {
    for (int d = threadIdx.x; d < Memory::kDigits; d += blockDim.x)
      memory.counts[d] = 0;
    __syncthreads();
#pragma unroll 4
    for (int32_t i = threadIdx.x; i < row.count; i += blockDim.x)
      if (int digit = 0; isCounted(i, digit))
        atomicAdd(&memory.counts[digit], 1);
    __syncthreads();
    if (threadIdx.x < kWarp)
      searchCounts(need);
    __syncthreads();
    const int digit = memory.digit;
    need -= memory.before;
    if (need == memory.counts[digit])
      need = 0;
    __syncthreads(); // before they are counted again
    return digit;
  }

  /// By a warp: each lane has 8 digits, the first one the largest.
  __device__ void searchCounts(int32_t need) {
    constexpr int kOfLane = Memory::kDigits / kWarp;
    const int lane = laneOfWarp(), top = Memory::kDigits - 1 - lane * kOfLane;
    int32_t sum = 0;
    for (int i = 0; i < kOfLane; ++i)
      sum += memory.counts[top - i];
    int32_t before = sum;
    for (int step = 1; step < kWarp; step *= 2) {
      const int32_t other =
          __shfl_sync(kAllLanes, before, (lane - step) & (kWarp - 1));
      before += lane >= step ? other : 0;
    }
    before -= sum;
    if (before >= need || before + sum < need)
      return;
    int digit = top;
    for (; before + memory.counts[digit] < need; --digit)
      before += memory.counts[digit];
    memory.digit = digit;
    memory.before = before;
  }

  /// In any order; how many, filled up to a power of two with what comes last.
  __device__ int collect() {
    const bool takesAll = row.count <= kMostSelected;
    const int found = int(takesAll ? row.count : row.k);
    int padded = 1;
    while (padded < found)
      padded *= 2;
    for (int i = found + int(threadIdx.x); i < padded; i += blockDim.x)
      put(i, 0, std::numeric_limits<int32_t>::max());
    for (int32_t i = threadIdx.x; i < row.count; i += blockDim.x) {
      const Key key = keyAt(i);
      if (takesAll)
        put(i, key, i);
      else if (isChosen(key, i))
        put(atomicAdd(&memory.chosen, 1), key, i);
    }
    return padded;
  }
  __device__ void put(int at, Key key, int32_t index) {
    memory.keys[at] = key;
    memory.indices[at] = index;
  }

  /// Bitonic.
  __device__ void sort(int count) {
    for (int size = 2; size <= count; size *= 2)
      for (int step = size / 2; step > 0; step /= 2) {
        __syncthreads();
        for (int i = threadIdx.x; i < count / 2; i += blockDim.x) {
          const int low = i / step * 2 * step + i % step;
          order(low, low + step, (low & size) == 0);
        }
      }
    __syncthreads();
  }
  __device__ void order(int i, int j, bool firstFirst) {
    const Key a = memory.keys[i], b = memory.keys[j];
    const int32_t m = memory.indices[i], n = memory.indices[j];
    const bool isFirst = a > b || (a == b && m < n);
    if (isFirst == firstFirst)
      return;
    put(i, b, n);
    put(j, a, m);
  }

  const T *const x;
  const TopKRow &row;
  Memory &memory;
  Key limit = 0; ///< of the keys that are chosen, and of the indices at it
  int32_t lastIndex = std::numeric_limits<int32_t>::max();
};

/// Strides: x, values, indices.
template <typename T>
__global__ __launch_bounds__(kSelectThreads) void selectKernel(
    const T *x, T *values, int64_t *indices, Nest<3> rows, TopKRow row) {
  for (int64_t r = blockIdx.x; r < rows.count; r += gridDim.x) {
    int64_t at[3];
    rows.offsets(r, at);
    TopKSelect<T>(x + at[0], row).run(values + at[1], indices + at[2]);
  }
}

/// Whether a row is for this: a few results are found faster one by one.
inline bool isForSelect(const TopKRow &row) {
  return row.k > 4 && row.k <= kMostSelected &&
         row.count < std::numeric_limits<int32_t>::max() - kSelectThreads;
}

template <typename T> Grid selectGrid(int64_t rows, const TopKRow &row) {
  Grid grid = blockPerRow<int>(rows, row.count);
  const int64_t warps = (row.count + 2 * kWarp - 1) / (2 * kWarp);
  grid.threads = static_cast<unsigned>(
      std::clamp<int64_t>(warps * kWarp, kWarp, kSelectThreads));
  grid.sharedBytes = sizeof(SelectMemory<KeyBits<sizeof(T)>>);
  return grid;
}

} // namespace shardc::runtime::cuda

#endif // SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_INDEX_TOPKSELECT_H
