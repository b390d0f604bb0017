//===- BroadcastTo.h - Operands that stretch to a shape -------------------===//
//
// ONNX's unidirectional broadcasting: the addend of Gemm, the scale of a norm. An
// operand stretches to what it goes with, and never the other way round:
//
//   [m, 4] with [4], [1, 4] or [m, 1]     fits
//   [m, 1] with [3]                       an error, where Add would give [m, 3]
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_DIALECTS_ONNX_BROADCASTTO_H
#define SHARDC_DIALECTS_ONNX_BROADCASTTO_H

#include "dialects/onnx/ShapeInference.h"

namespace shardc::onnx {

/// An error unless an operand stretches to `dims`; what symbols decide is assumed.
llvm::LogicalResult broadcastTo(ShapeInference &inference, mlir::Operation *op,
                                llvm::ArrayRef<dist::DimExpr> dims,
                                llvm::ArrayRef<dist::DimExpr> operand,
                                llvm::StringRef name);

} // namespace shardc::onnx

#endif // SHARDC_DIALECTS_ONNX_BROADCASTTO_H
