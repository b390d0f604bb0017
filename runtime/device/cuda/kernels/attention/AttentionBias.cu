// What a library's attention needs of a mask, and what it does not know of rows
// that see nothing.
#include "runtime/device/cuda/kernels/Launch.h"
#include "runtime/device/cuda/kernels/Warp.h"
#include "runtime/device/cuda/kernels/attention/AttentionKernels.h"
#include "runtime/kernels/Dispatch.h"

#include <limits>
#include <type_traits>

namespace shardc::runtime::cuda {
namespace {

using HalfTypes = host::TypeList<host::Float16, host::BFloat16>;

/// What the mask adds to a score.
template <typename T>
__device__ float addedBy(const AttentionProblem &p, int64_t at) {
  if (p.maskKind == AttentionMask::Added)
    return float(reinterpret_cast<const T *>(p.mask.data)[at]);
  const bool isShown = reinterpret_cast<const host::Boolean *>(p.mask.data)[at];
  return isShown ? 0.f : -std::numeric_limits<float>::infinity();
}

/// -inf as a number: a library's tile in which all scores are -inf may have no
/// maximum to subtract. Still finite as a power of two, and what it weighs is
/// 0; rows that see nothing are filled later.
template <typename T> __device__ T finite(float added) {
  constexpr float kHidden =
      std::is_same_v<T, host::Float16> ? -65504.f : -1e38f;
  return T(added == -std::numeric_limits<float>::infinity() ? kHidden : added);
}

/// A block a row of the bias, and zeros to where the next one begins: a tile of
/// the library's may reach there.
template <typename T>
__global__ void biasKernel(const __grid_constant__ AttentionProblem p,
                           const __grid_constant__ AttentionView bias,
                           int64_t heads, int64_t rows) {
  const int64_t row = blockIdx.x, query = row % rows;
  const int64_t head = row / rows % heads, batch = row / rows / heads;
  const int64_t keys = query < p.queries ? p.keys : 0;
  const int64_t from = batch * p.mask.strides[0] + head * p.mask.strides[1] +
                       query * p.mask.strides[2];
  T *to = reinterpret_cast<T *>(bias.data) + batch * bias.strides[0] +
          head * bias.strides[1] + query * bias.strides[2];
  for (int64_t key = threadIdx.x; key < bias.strides[2]; key += blockDim.x)
    to[key] = finite<T>(
        key < keys ? addedBy<T>(p, from + key * p.mask.strides[3]) : 0.f);
}

/// A block a row of the mask, for all heads of one KV head or, where the mask
/// is the same for all heads, for all of them.
template <typename T>
__global__ void hiddenRowsKernel(const __grid_constant__ AttentionProblem p,
                                 int64_t heads, T empty) {
  const int64_t row = blockIdx.x, query = row % p.queries;
  const int64_t head = row / p.queries % heads, batch = row / p.queries / heads;
  const int64_t from = batch * p.mask.strides[0] + head * p.mask.strides[1] +
                       query * p.mask.strides[2];
  int sees = 0;
  for (int64_t key = threadIdx.x; key < p.keys && !sees; key += blockDim.x)
    sees = addedBy<T>(p, from + key * p.mask.strides[3]) !=
           -std::numeric_limits<float>::infinity();
  if (reduceBlock(sees, [](int a, int b) { return a | b; }))
    return;
  const int64_t end = heads == 1 ? p.heads : head + 1;
  for (int64_t h = head; h < end; ++h)
    for (int64_t c = threadIdx.x; c < p.columns; c += blockDim.x)
      reinterpret_cast<T *>(
          p.y.data)[batch * p.y.strides[0] + h * p.y.strides[1] +
                    query * p.y.strides[2] + c * p.y.strides[3]] = empty;
}

/// Of each thread, the block shares `sharedOfThread` bytes.
Grid gridOf(int64_t batches, int64_t heads, int64_t queries,
            size_t sharedOfThread) {
  constexpr unsigned kThreadsOfRow = 128;
  return {dim3(static_cast<unsigned>(batches * heads * queries)), kThreadsOfRow,
          kThreadsOfRow * sharedOfThread, sharedOfThread > 0};
}

} // namespace

Status biasOfMask(const AttentionProblem &problem, const AttentionView &bias,
                  int64_t rows, artifact::ElementType element,
                  cudaStream_t stream) {
  const int64_t batches = bias.strides[0] ? problem.batches : 1;
  const int64_t heads = bias.strides[1] ? problem.heads : 1;
  return host::dispatch(HalfTypes(), element, "Attention", [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return launch(biasKernel<T>, gridOf(batches, heads, rows, 0), stream,
                  problem, bias, heads, rows);
  });
}

Status fillHiddenRows(const AttentionProblem &problem,
                      artifact::ElementType element, cudaStream_t stream) {
  const int64_t heads = problem.mask.strides[1] ? problem.heads : 1;
  return host::dispatch(HalfTypes(), element, "Attention", [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const T empty(problem.zeroRows == host::ZeroRows::None
                      ? std::numeric_limits<float>::quiet_NaN()
                      : 0.f);
    return launch(hiddenRowsKernel<T>,
                  gridOf(problem.batches, heads, problem.queries, sizeof(int)),
                  stream, problem, heads, empty);
  });
}

} // namespace shardc::runtime::cuda
