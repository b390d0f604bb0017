//===- Quantization.h - Integers that stand for numbers -------------------===//
#ifndef SHARDC_DIALECTS_ONNX_OPS_QUANTIZATION_H
#define SHARDC_DIALECTS_ONNX_OPS_QUANTIZATION_H

#include "dialects/onnx/Onnx.h"

#define GET_OP_CLASSES
#include "dialects/onnx/ops/Quantization.h.inc"

namespace shardc::onnx {

class Decomposition;

/// Integers, and what they stand for; the zero point may be absent.
struct QuantizedValue {
  mlir::Value data, scale, zeroPoint;
};

/// Whether a QuantizeLinear or DequantizeLinear has blocks all of one size.
bool hasWholeBlocks(mlir::Operation *op);

/// Eight bits of float with a mantissa, for which kernels have readers.
bool isScaledFloat8(mlir::Type element);

/// As ui8, by the smallest and largest element.
QuantizedValue quantizeDynamically(Decomposition &d, mlir::Value input);

} // namespace shardc::onnx

#endif // SHARDC_DIALECTS_ONNX_OPS_QUANTIZATION_H
