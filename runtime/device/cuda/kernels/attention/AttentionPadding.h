//===- AttentionPadding.h - Prompts of few lengths for a library ----------===//
//
// A library makes a plan for each shape, at the cost of some prompts. So
// queries and keys are copied into rows of one of a few lengths, four between a
// power of two and the next, and the result is copied back:
//
//   1700 queries and keys: plan of 1792; q, k, v of 1792 rows, of which 92 are
//   zeros; lengths 1700, 1700; 1700 rows of y come back
//
// Prompts of up to 4,096 have 16 such lengths. One that has such a length is
// not copied. The copies take 20 KiB a token for 32 heads of 128 on 8 KV heads:
// where they are too large a prompt has a plan of its own, whose cost is little
// beside its own work.
//
// Why copies: a library may read rows that are padding, and what it weighs with
// 0 has to be a number; it may write those of y. Behind a tensor there may be
// no memory, or another tensor's.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_ATTENTION_ATTENTIONPADDING_H
#define SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_ATTENTION_ATTENTIONPADDING_H

#include "runtime/device/cuda/attention/FusedAttention.h"
#include "runtime/device/cuda/kernels/attention/AttentionKernels.h"

namespace shardc::runtime::cuda {

/// The next of the lengths: 300 -> 384, 1700 -> 1792.
int64_t paddedLength(int64_t length);

/// The shape of the copies of one of whole operands; the same, not padded,
/// where that has such lengths, or the copies are too large or not for a
/// library. A bias's strides are left out.
FusedAttentionShape paddedShape(const FusedAttentionShape &whole);

/// Of the copies and the lengths; 0 where the shape is not padded.
int64_t paddingBytes(const FusedAttentionShape &shape);

/// The copies in memory of that many bytes, aligned as scratch is; all but the
/// bias.
FusedAttentionOperands paddedOperands(const FusedAttentionShape &shape,
                                      std::byte *memory);

/// Rows of each head to rows of as many columns.
struct AttentionRows {
  const std::byte *from = nullptr;
  std::byte *to = nullptr;
  int64_t fromStrides[3], toStrides[3]; ///< of batches, heads and rows
  int64_t batches = 0, heads = 0;
  int64_t rows = 0, allRows = 0; ///< zeros behind the first ones
  int64_t columns = 0;           ///< of 16 bits, whole vectors of them
};

struct AttentionRowsOfAll {
  AttentionRows tensors[3];
  int count = 0;
  /// Of all batches the queries, then the keys; null: not wanted.
  int32_t *lengths = nullptr;
  int64_t batches = 0;
  int32_t queries = 0, keys = 0;
};

Status copyAttentionRows(const AttentionRowsOfAll &all, cudaStream_t stream);

/// q, k, v and the lengths to the copies, and y back.
Status padOperands(const AttentionProblem &problem,
                   const FusedAttentionShape &shape,
                   const FusedAttentionOperands &copies, cudaStream_t stream);
Status unpadResult(const AttentionProblem &problem,
                   const FusedAttentionShape &shape,
                   const FusedAttentionOperands &copies, cudaStream_t stream);

} // namespace shardc::runtime::cuda

#endif // SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_ATTENTION_ATTENTIONPADDING_H
