//===- Pages.h - PageWrite, PagedAttention --------------------------------===//
#ifndef SHARDC_DIALECTS_ONNX_OPS_PAGES_H
#define SHARDC_DIALECTS_ONNX_OPS_PAGES_H

#include "dialects/onnx/Onnx.h"

#define GET_OP_CLASSES
#include "dialects/onnx/ops/Pages.h.inc"

namespace shardc::onnx {

/// Slots that no pool has, which say why (runtime: PagedChecks.h): the file
/// counts other positions than the row has, or the row has more than it takes.
inline constexpr int64_t kSlotOfOtherPositions = INT64_MAX;
inline constexpr int64_t kSlotOfTooManyPositions = INT64_MAX - 1;

/// Numbers of the operands of PagedAttentionOp, and of PagedAttentionPartsOp, which
/// has no sinks.
struct PagedOperand {
  enum : unsigned {
    Query,
    Keys,
    Values,
    Pages,
    Past,
    First,
    Mask,
    Sinks,
    KeyScales,
    ValueScales
  };
};

/// Behind the values that a part of the keys gives: the largest score, the sum.
inline constexpr int64_t kSeenStatistics = 2;
/// What PagedAttentionPartsOp adds up in, of queries of that type.
mlir::Type seenElement(mlir::Type query);

} // namespace shardc::onnx

#endif // SHARDC_DIALECTS_ONNX_OPS_PAGES_H
