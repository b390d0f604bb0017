//===- Dynamic.h - ReadSizes, NonZero, Compress ---------------------------===//
#ifndef SHARDC_DIALECTS_ONNX_OPS_DYNAMIC_H
#define SHARDC_DIALECTS_ONNX_OPS_DYNAMIC_H

#include "dialects/onnx/Onnx.h"

#define GET_OP_CLASSES
#include "dialects/onnx/ops/Dynamic.h.inc"

namespace shardc::onnx {

/// Calls `visit` for each size that the op's types and attributes are written
/// in: their symbols must be bound before it.
void forEachSize(mlir::Operation *op,
                 llvm::function_ref<void(dist::DimExpr)> visit);

} // namespace shardc::onnx

#endif // SHARDC_DIALECTS_ONNX_OPS_DYNAMIC_H
