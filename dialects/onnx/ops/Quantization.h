//===- Quantization.h - Integers that stand for numbers -------------------===//
#ifndef SHARDC_DIALECTS_ONNX_OPS_QUANTIZATION_H
#define SHARDC_DIALECTS_ONNX_OPS_QUANTIZATION_H

#include "dialects/onnx/Onnx.h"

#define GET_OP_CLASSES
#include "dialects/onnx/ops/Quantization.h.inc"

#endif // SHARDC_DIALECTS_ONNX_OPS_QUANTIZATION_H
