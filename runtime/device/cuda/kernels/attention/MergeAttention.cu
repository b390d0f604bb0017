// Attention to all keys, of what was seen of their parts.
#include "runtime/device/cuda/kernels/attention/AttentionDevice.h"
#include "runtime/device/cuda/kernels/attention/PagedKernels.h"
#include "runtime/kernels/Dispatch.h"

namespace shardc::runtime::cuda {
namespace {

/// A thread has a column of a query of a head; there are few parts.
template <typename T>
__global__ void mergePartsKernel(const __grid_constant__ MergeProblem p) {
  using A = Acc<T>;
  const int64_t count = p.of.heads * p.of.queries * p.of.columns;
  for (int64_t i = firstElement(); i < count; i += allThreads()) {
    const int64_t column = i % p.of.columns;
    const int64_t query = i / p.of.columns % p.of.queries;
    const int64_t head = i / p.of.columns / p.of.queries;
    const A *seen = reinterpret_cast<const A *>(p.seen.data) +
                    head * p.seen.strides[1] + query * p.seen.strides[2];
    SeenStats<A> stats;
    A value[1] = {};
    for (int64_t part = 0; part < p.parts; ++part) {
      const A *own = seen + part * p.seen.strides[0];
      const auto at = [&](int64_t c) { return own[c * p.seen.strides[3]]; };
      addState(stats, value, at(p.of.columns), at(p.of.columns + 1),
               [&](int) { return at(column); });
    }
    reinterpret_cast<T *>(
        p.of.y.data)[head * p.of.y.strides[1] + query * p.of.y.strides[2] +
                     column * p.of.y.strides[3]] =
        T(resultOf<T>(p.of, stats, head).of(value[0]));
  }
}

} // namespace

Status mergeParts(const MergeProblem &problem, artifact::ElementType element,
                  cudaStream_t stream) {
  const int64_t count =
      problem.of.heads * problem.of.queries * problem.of.columns;
  return host::dispatch(
      host::FloatTypes(), element, "MergeAttention", [&](auto tag) {
        using T = typename decltype(tag)::Type;
        return launch(mergePartsKernel<T>, {dim3(blocksFor(count)), kThreads},
                      stream, problem);
      });
}

} // namespace shardc::runtime::cuda
