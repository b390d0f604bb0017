//===- Quantization.h - com.microsoft: quantised weights ------------------===//
#ifndef SHARDC_DIALECTS_ONNX_OPS_MICROSOFT_QUANTIZATION_H
#define SHARDC_DIALECTS_ONNX_OPS_MICROSOFT_QUANTIZATION_H

#include "dialects/onnx/Onnx.h"

#define GET_OP_CLASSES
#include "dialects/onnx/ops/microsoft/Quantization.h.inc"

namespace shardc::onnx {

class Decomposition;

/// The same bytes of the model, ui8, as rows of ui4 or ui2 with these dims: two
/// or four elements a byte, the lowest bits first. An error where they are
/// computed.
mlir::Value asFields(Decomposition &d, mlir::Value bytes, int64_t bits,
                     llvm::ArrayRef<dist::DimExpr> dims);

} // namespace shardc::onnx

#endif // SHARDC_DIALECTS_ONNX_OPS_MICROSOFT_QUANTIZATION_H
