// Copies of rows for AttentionPadding.h.
#include "runtime/device/cuda/kernels/Launch.h"
#include "runtime/device/cuda/kernels/attention/AttentionPadding.h"

#include <algorithm>

namespace shardc::runtime::cuda {
namespace {

constexpr int64_t kColumnsOfVector = 8;

__device__ const uint4 *vectorAt(const std::byte *data,
                                 const int64_t (&strides)[3], int64_t batch,
                                 int64_t head, int64_t row, int64_t vector) {
  const int64_t at = batch * strides[0] + head * strides[1] + row * strides[2];
  return reinterpret_cast<const uint4 *>(data + 2 * at) + vector;
}

/// A row of blocks a tensor, a thread a vector.
__global__ void rowsKernel(const __grid_constant__ AttentionRowsOfAll all) {
  const AttentionRows &t = all.tensors[blockIdx.y];
  const int64_t vectors = t.columns / kColumnsOfVector;
  const int64_t count = t.batches * t.heads * t.allRows * vectors;
  for (int64_t i = firstElement(); i < count; i += allThreads()) {
    const int64_t vector = i % vectors, row = i / vectors % t.allRows;
    const int64_t outer = i / vectors / t.allRows;
    const int64_t head = outer % t.heads, batch = outer / t.heads;
    *const_cast<uint4 *>(
        vectorAt(t.to, t.toStrides, batch, head, row, vector)) =
        row < t.rows
            ? *vectorAt(t.from, t.fromStrides, batch, head, row, vector)
            : uint4{};
  }
  if (!all.lengths || blockIdx.y > 0)
    return;
  for (int64_t i = firstElement(); i < 2 * all.batches; i += allThreads())
    all.lengths[i] = i < all.batches ? all.queries : all.keys;
}

} // namespace

Status copyAttentionRows(const AttentionRowsOfAll &all, cudaStream_t stream) {
  int64_t most = 0;
  for (int i = 0; i < all.count; ++i) {
    const AttentionRows &t = all.tensors[i];
    most = std::max(most, t.batches * t.heads * t.allRows * t.columns /
                              kColumnsOfVector);
  }
  return launch(
      rowsKernel,
      {dim3(blocksFor(most), static_cast<unsigned>(all.count)), kThreads},
      stream, all);
}

} // namespace shardc::runtime::cuda
