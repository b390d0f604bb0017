//===- Activation.h - com.microsoft: GELUs ---===//
#ifndef SHARDC_DIALECTS_ONNX_OPS_MICROSOFT_ACTIVATION_H
#define SHARDC_DIALECTS_ONNX_OPS_MICROSOFT_ACTIVATION_H

#include "dialects/onnx/Onnx.h"

#define GET_OP_CLASSES
#include "dialects/onnx/ops/microsoft/Activation.h.inc"

#endif // SHARDC_DIALECTS_ONNX_OPS_MICROSOFT_ACTIVATION_H
