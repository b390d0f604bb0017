//===- AttentionTile.h - What products of attention are made of -----------===//
#ifndef SHARDC_RUNTIME_KERNELS_HOST_ATTENTION_ATTENTIONTILE_H
#define SHARDC_RUNTIME_KERNELS_HOST_ATTENTION_ATTENTIONTILE_H

#include "runtime/kernels/host/product/MatrixProduct.h"

namespace shardc::runtime::host {

/// Scores of `rows` queries and of keys [begin, begin + count) of a piece.
template <typename Acc> struct ScoreTile {
  Acc *scores;
  int64_t leading;
  int64_t rows, begin, count;
};

/// Where a piece starts among the keys and values of a head, in elements, and
/// how many it has.
struct KeyPiece {
  int64_t keys, values, size;
  bool operator==(const KeyPiece &) const = default;
};

/// How keys [.., depth] and values [.., columns] of a head lie.
struct AttentionHead {
  int64_t depth, columns;
  int64_t stepK, depthStepK, stepV, columnStepV;

  AttentionHead(const TensorView &k, const TensorView &v)
      : depth(k.dims[3]), columns(v.dims[3]), stepK(k.strides[2]),
        depthStepK(k.strides[3]), stepV(v.strides[2]),
        columnStepV(v.strides[3]) {}
};

/// How attention adds up, and whether its operands may be rounded.
struct AttentionOrder {
  bool areRowsSplit = false, isInOrder = false, isRounded = false;

  static AttentionOrder of(const KernelCall &call) {
    return {call.intOr("split_rows", 0) != 0,
            sumOrderOf(call) == SumOrder::Fixed,
            call.intOr("operand_bits", 0) == 16};
  }
};

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_HOST_ATTENTION_ATTENTIONTILE_H
