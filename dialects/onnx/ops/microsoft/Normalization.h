//===- Normalization.h - com.microsoft: norms ---===//
#ifndef SHARDC_DIALECTS_ONNX_OPS_MICROSOFT_NORMALIZATION_H
#define SHARDC_DIALECTS_ONNX_OPS_MICROSOFT_NORMALIZATION_H

#include "dialects/onnx/Onnx.h"

#define GET_OP_CLASSES
#include "dialects/onnx/ops/microsoft/Normalization.h.inc"

#endif // SHARDC_DIALECTS_ONNX_OPS_MICROSOFT_NORMALIZATION_H
