//===- QLinear.h - com.microsoft: ops on quantised values -----------------===//
#ifndef SHARDC_DIALECTS_ONNX_OPS_MICROSOFT_QLINEAR_H
#define SHARDC_DIALECTS_ONNX_OPS_MICROSOFT_QLINEAR_H

#include "dialects/onnx/Onnx.h"

#define GET_OP_CLASSES
#include "dialects/onnx/ops/microsoft/QLinear.h.inc"

#endif // SHARDC_DIALECTS_ONNX_OPS_MICROSOFT_QLINEAR_H
