// Puts together what parts of a row's attention have seen, and finishes it: a
// block a row, a thread a column.
#include "runtime/device/cuda/kernels/attention/AttentionDevice.h"
#include "runtime/kernels/Dispatch.h"

namespace shardc::runtime::cuda {
namespace {

constexpr int kThreadsOfRow = 128;

template <typename T>
__global__ void mergeKernel(const __grid_constant__ AttentionProblem p,
                            AttentionState parts, int count) {
  using A = Acc<T>;
  const AttentionBlock block(p);
  const AttentionRow row(p, block, block.firstRow);
  const A *values =
      reinterpret_cast<const A *>(parts.values.data) + row.in(parts.values);
  const A *stats =
      reinterpret_cast<const A *>(parts.stats.data) + row.in(parts.stats);
  A *ownValues =
      reinterpret_cast<A *>(p.state.values.data) + row.in(p.state.values);
  A *ownStats =
      reinterpret_cast<A *>(p.state.stats.data) + row.in(p.state.stats);
  SeenStats<A> seen;
  for (int64_t first = 0; first == 0 || first < p.columns;
       first += kThreadsOfRow) {
    const int64_t column = first + threadIdx.x;
    const bool exists = column < p.columns;
    A sum[1] = {};
    seen = {};
    if (p.continues)
      addState(seen, sum, ownStats[0], ownStats[1],
               [&](int) { return exists ? ownValues[column] : A(0); });
    for (int s = 0; s < count; ++s)
      addState(seen, sum, stats[s * parts.statStep],
               stats[s * parts.statStep + 1], [&](int) {
                 return exists ? values[s * parts.valueStep + column] : A(0);
               });
    if (!exists)
      continue;
    if (p.finishes)
      reinterpret_cast<T *>(p.y.data)[row.in(p.y) + column * p.y.strides[3]] =
          T(resultOf<T>(p, seen, row.head).of(sum[0]));
    else
      ownValues[column] = sum[0];
  }
  __syncthreads(); // all have read the stats
  if (p.finishes || threadIdx.x != 0)
    return;
  ownStats[0] = seen.maximum;
  ownStats[1] = seen.sum;
}

} // namespace

Status mergeAttention(const AttentionProblem &problem,
                      const AttentionState &parts, int count,
                      artifact::ElementType element, cudaStream_t stream) {
  const dim3 rows(static_cast<unsigned>(problem.batches * problem.kvHeads *
                                        problem.rowsOfHead()));
  return host::dispatch(
      host::FloatTypes(), element, "Attention", [&](auto tag) {
        using T = typename decltype(tag)::Type;
        return launch(mergeKernel<T>, {rows, kThreadsOfRow, 0, true}, stream,
                      problem, parts, count);
      });
}

} // namespace shardc::runtime::cuda
