//===- Quantization.h - com.microsoft: quantised weights ------------------===//
#ifndef SHARDC_DIALECTS_ONNX_OPS_MICROSOFT_QUANTIZATION_H
#define SHARDC_DIALECTS_ONNX_OPS_MICROSOFT_QUANTIZATION_H

#include "dialects/onnx/Onnx.h"

#define GET_OP_CLASSES
#include "dialects/onnx/ops/microsoft/Quantization.h.inc"

namespace shardc::onnx {

class Decomposition;

/// The same bytes of the model, ui8, as rows of ui4 with these dims: two
/// elements a byte, the lower half first. An error where they are computed.
mlir::Value asHalves(Decomposition &d, mlir::Value bytes,
                     llvm::ArrayRef<dist::DimExpr> dims);
/// Four elements of two bits a byte, the lowest first, in bytes of their own: a
/// program has no smaller type. Of weights that happens once, when they load.
mlir::Value asQuarters(Decomposition &d, mlir::Value bytes,
                       llvm::ArrayRef<dist::DimExpr> dims);

} // namespace shardc::onnx

#endif // SHARDC_DIALECTS_ONNX_OPS_MICROSOFT_QUANTIZATION_H
