//===- Replaced.h - Ops that import makes of others ----------------------===//
#ifndef SHARDC_DIALECTS_ONNX_OPS_REPLACED_H
#define SHARDC_DIALECTS_ONNX_OPS_REPLACED_H

#include "dialects/onnx/Onnx.h"

#define GET_OP_CLASSES
#include "dialects/onnx/ops/Replaced.h.inc"

namespace shardc::onnx {

/// Operand `index` as constants, `count` of them unless that is 0; `name` is
/// what the error calls it.
llvm::FailureOr<llvm::SmallVector<int64_t, 4>>
constantOperand(mlir::Operation *op, ShapeInference &inference, unsigned index,
                llvm::StringRef name, size_t count = 0);

/// What import writes for one op: elements of a constant, and values of ops. Of
/// places, which elements of a constant may be, there may be more.
inline constexpr int64_t kMostElements = int64_t{1} << 25,
                         kMostValues = int64_t{1} << 16,
                         kMostPlaces = int64_t{1} << 62;

/// Sizes come from a file. Fails unless there are at most `most` of `what`, the
/// product of `counts`, none of which is negative.
llvm::LogicalResult checkAmount(mlir::Operation *op,
                                llvm::ArrayRef<int64_t> counts, int64_t most,
                                llvm::StringRef what);

} // namespace shardc::onnx

#endif // SHARDC_DIALECTS_ONNX_OPS_REPLACED_H
