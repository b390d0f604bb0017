#include "runtime/device/cuda/kernels/attention/AttentionPadding.h"

#include "runtime/base/AlignedBuffer.h"

#include <algorithm>
#include <bit>

namespace shardc::runtime::cuda {
namespace {

constexpr int64_t kMostPaddingBytes = int64_t{512} << 20;

int64_t bytesOf(int64_t batches, int64_t heads, int64_t rows, int64_t depth) {
  return alignBuffer(2 * batches * heads * rows * depth);
}

int64_t queryBytes(const FusedAttentionShape &shape) {
  return bytesOf(shape.batches, shape.heads, shape.queries, shape.depth);
}
int64_t keyBytes(const FusedAttentionShape &shape) {
  return bytesOf(shape.batches, shape.kvHeads, shape.keys, shape.depth);
}

void setDense(int64_t heads, int64_t rows, int64_t depth,
              int64_t (&strides)[3]) {
  strides[2] = depth;
  strides[1] = rows * depth;
  strides[0] = heads * rows * depth;
}

/// A row that sees no key would be one more thing to know of a library.
bool seesKeysEverywhere(const FusedAttentionShape &shape) {
  const bool needsKeys = shape.alignsEnds || shape.window != 0;
  return !needsKeys || shape.keys >= shape.queries;
}

} // namespace

int64_t paddedLength(int64_t length) {
  constexpr int64_t kLeast = 128;
  const auto power =
      static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(length - 1)));
  const int64_t step = std::max(power / 4, kLeast);
  return (length + step - 1) / step * step;
}

FusedAttentionShape paddedShape(const FusedAttentionShape &whole) {
  FusedAttentionShape shape = whole;
  shape.queries = paddedLength(whole.queries);
  shape.keys = paddedLength(whole.keys);
  shape.isPadded = true;
  if ((shape.queries == whole.queries && shape.keys == whole.keys) ||
      !seesKeysEverywhere(whole) || paddingBytes(shape) > kMostPaddingBytes)
    return whole;
  setDense(shape.heads, shape.queries, shape.depth, shape.q);
  setDense(shape.kvHeads, shape.keys, shape.depth, shape.k);
  setDense(shape.kvHeads, shape.keys, shape.depth, shape.v);
  setDense(shape.heads, shape.queries, shape.depth, shape.y);
  return shape;
}

int64_t paddingBytes(const FusedAttentionShape &shape) {
  if (!shape.isPadded)
    return 0;
  const auto lengths = static_cast<int64_t>(sizeof(int32_t)) * 2;
  return 2 * queryBytes(shape) + 2 * keyBytes(shape) +
         alignBuffer(lengths * shape.batches);
}

FusedAttentionOperands paddedOperands(const FusedAttentionShape &shape,
                                      std::byte *memory) {
  FusedAttentionOperands copies = {};
  copies.q = memory;
  copies.y = memory + queryBytes(shape);
  copies.k = copies.y + queryBytes(shape);
  copies.v = copies.k + keyBytes(shape);
  copies.queryLengths =
      reinterpret_cast<const int32_t *>(copies.v + keyBytes(shape));
  copies.keyLengths = copies.queryLengths + shape.batches;
  return copies;
}

Status padOperands(const AttentionProblem &problem,
                   const FusedAttentionShape &shape,
                   const FusedAttentionOperands &copies, cudaStream_t stream) {
  AttentionRowsOfAll all;
  const auto add = [&](const AttentionView &from, const std::byte *to,
                       const int64_t (&strides)[3], int64_t heads, int64_t rows,
                       int64_t allRows) {
    AttentionRows &rowsOfOne = all.tensors[all.count++];
    rowsOfOne.from = from.data;
    rowsOfOne.to = const_cast<std::byte *>(to);
    std::copy_n(from.strides, 3, rowsOfOne.fromStrides);
    std::copy_n(strides, 3, rowsOfOne.toStrides);
    rowsOfOne.batches = shape.batches;
    rowsOfOne.heads = heads;
    rowsOfOne.rows = rows;
    rowsOfOne.allRows = allRows;
    rowsOfOne.columns = shape.depth;
  };
  add(problem.q, copies.q, shape.q, shape.heads, problem.queries,
      shape.queries);
  add(problem.k, copies.k, shape.k, shape.kvHeads, problem.keys, shape.keys);
  add(problem.v, copies.v, shape.v, shape.kvHeads, problem.keys, shape.keys);
  all.lengths = const_cast<int32_t *>(copies.queryLengths);
  all.batches = shape.batches;
  all.queries = static_cast<int32_t>(problem.queries);
  all.keys = static_cast<int32_t>(problem.keys);
  return copyAttentionRows(all, stream);
}

Status unpadResult(const AttentionProblem &problem,
                   const FusedAttentionShape &shape,
                   const FusedAttentionOperands &copies, cudaStream_t stream) {
  AttentionRowsOfAll all;
  AttentionRows &y = all.tensors[all.count++];
  y.from = copies.y;
  y.to = problem.y.data;
  std::copy_n(shape.y, 3, y.fromStrides);
  std::copy_n(problem.y.strides, 3, y.toStrides);
  y.batches = shape.batches;
  y.heads = shape.heads;
  y.rows = y.allRows = problem.queries;
  y.columns = shape.depth;
  return copyAttentionRows(all, stream);
}

} // namespace shardc::runtime::cuda
