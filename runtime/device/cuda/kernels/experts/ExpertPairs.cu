//===- ExpertPairs.cu - What comes before and after experts' products -----===//
#include "runtime/device/cuda/kernels/Fault.h"
#include "runtime/device/cuda/kernels/Warp.h"
#include "runtime/device/cuda/kernels/experts/Experts.h"

namespace shardc::runtime::cuda {
namespace {

/// Threads of the one block that sorts.
constexpr unsigned kSortThreads = 1024;

/// Sums before each expert, 32 at a time, by the first warp.
__device__ void addStarts(const ExpertOrder &order, int64_t experts) {
  int32_t pairs = 0, tiles = 0;
  for (int64_t e0 = 0; e0 < experts; e0 += kWarp) {
    const int64_t e = e0 + laneOfWarp();
    const int32_t count = e < experts ? order.next[e] : 0;
    const int32_t full = (count + order.tileRows - 1) / order.tileRows;
    for (int lane = 0; lane < kWarp; ++lane) {
      if (e == e0 + lane && e < experts) {
        order.starts[e] = pairs;
        order.next[e] = pairs;
        order.tiles[e] = tiles;
      }
      pairs += __shfl_sync(kAllLanes, count, lane);
      tiles += __shfl_sync(kAllLanes, full, lane);
    }
  }
  if (laneOfWarp() == 0) {
    order.starts[experts] = pairs;
    order.tiles[experts] = tiles;
  }
}

/// Counts, adds up and places; pairs of an expert come in any order.
__global__ void __launch_bounds__(kSortThreads)
    sortKernel(ExpertChoices choices, ExpertOrder order) {
  for (int64_t e = threadIdx.x; e < choices.here; e += blockDim.x)
    order.next[e] = 0;
  __syncthreads();
  for (int64_t i = threadIdx.x; i < choices.pairs; i += blockDim.x)
    if (const int64_t e = choices.expertOf(i); e >= 0)
      atomicAdd(&order.next[e], 1);
  __syncthreads();
  if (threadIdx.x < kWarp)
    addStarts(order, choices.here);
  __syncthreads();
  for (int64_t i = threadIdx.x; i < choices.pairs; i += blockDim.x)
    if (const int64_t e = choices.expertOf(i); e >= 0)
      order.pairs[atomicAdd(&order.next[e], 1)] = static_cast<int32_t>(i);
}

template <typename T>
__global__ void floatsKernel(float *to, const T *from, Nest<1> nest) {
  for (int64_t i = firstElement(); i < nest.count; i += allThreads()) {
    int64_t at[1];
    nest.offsets(i, at);
    to[i] = from[at[0]];
  }
}

template <typename Acc, typename To>
__global__ void activateKernel(const Acc *from, To *to,
                               host::ExpertActivation<Acc> activation,
                               int64_t pairs, int64_t wide, int64_t hidden) {
  activation.dispatch([&](auto function) {
    for (int64_t i = firstElement(); i < pairs * hidden; i += allThreads()) {
      const int64_t pair = i / hidden;
      to[i] =
          To(activation.at(from + pair * wide, i - pair * hidden, function));
    }
  });
}

template <typename T, typename Acc>
__global__ void
combineKernel(ExpertChoices choices, const T *weights, int64_t weightRow,
              int64_t weightColumn, const Acc *sums, T *y, int64_t yRow,
              int64_t yColumn, int64_t tokens, int64_t outputs, Fault fault) {
  for (int64_t i = firstElement(); i < tokens * outputs; i += allThreads()) {
    const int64_t token = i / outputs, column = i - token * outputs;
    Acc sum = 0;
    for (int64_t c = 0; c < choices.choices; ++c) {
      const int64_t pair = token * choices.choices + c;
      if (!choices.isInRange(pair))
        report(fault);
      else if (choices.expertOf(pair) >= 0)
        sum += Acc(weights[token * weightRow + c * weightColumn]) *
               sums[pair * outputs + column];
    }
    y[token * yRow + column * yColumn] = T(sum);
  }
}

} // namespace

Status sortPairs(const ExpertChoices &choices, const ExpertOrder &order,
                 cudaStream_t stream) {
  return launch(sortKernel, {dim3(1), kSortThreads, 0, true}, stream, choices,
                order);
}

Status toFloats(const TensorView &tokens, float *to, cudaStream_t stream) {
  const auto nest = nestOf(tokens);
  return host::dispatch(host::TypeList<float, host::Float16, host::BFloat16>(),
                        tokens.element, "MixtureOfExperts", [&](auto tag) {
                          using T = typename decltype(tag)::Type;
                          return nest.count == 0
                                     ? Status::ok()
                                     : launch(floatsKernel<T>, nest.grid(),
                                              stream, to, tokens.as<T>(), nest);
                        });
}

template <typename Acc, typename To>
Status activatePairs(const Acc *from, To *to,
                     const host::ExpertActivation<Acc> &activation,
                     int64_t pairs, int64_t wide, int64_t hidden,
                     cudaStream_t stream) {
  return pairs * hidden == 0
             ? Status::ok()
             : launch(activateKernel<Acc, To>,
                      {dim3(blocksFor(pairs * hidden))}, stream, from, to,
                      activation, pairs, wide, hidden);
}
#define SHARDC_ACTIVATE(Acc, To)                                               \
  template Status activatePairs(const Acc *, To *,                             \
                                const host::ExpertActivation<Acc> &, int64_t,  \
                                int64_t, int64_t, cudaStream_t)
SHARDC_ACTIVATE(float, float);
SHARDC_ACTIVATE(float, host::Float16);
SHARDC_ACTIVATE(float, host::BFloat16);
SHARDC_ACTIVATE(double, double);
#undef SHARDC_ACTIVATE

Status combinePairs(const ExpertChoices &choices, const TensorView &weights,
                    const std::byte *sums, const TensorView &y,
                    const Fault &fault, cudaStream_t stream) {
  const int64_t count = y.numElements();
  return host::dispatch(
      host::FloatTypes(), y.element, "MixtureOfExperts", [&](auto tag) {
        using T = typename decltype(tag)::Type;
        using Acc = host::Compute<T>;
        return count == 0
                   ? Status::ok()
                   : launch(combineKernel<T, Acc>, {dim3(blocksFor(count))},
                            stream, choices, weights.as<T>(),
                            weights.strides[0], weights.strides[1],
                            reinterpret_cast<const Acc *>(sums), y.as<T>(),
                            y.strides[0], y.strides[1], y.dims[0], y.dims[1],
                            fault);
      });
}

} // namespace shardc::runtime::cuda
