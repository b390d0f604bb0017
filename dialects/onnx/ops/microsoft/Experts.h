//===- Experts.h - com.microsoft: mixtures of experts ---------------------===//
#ifndef SHARDC_DIALECTS_ONNX_OPS_MICROSOFT_EXPERTS_H
#define SHARDC_DIALECTS_ONNX_OPS_MICROSOFT_EXPERTS_H

#include "dialects/onnx/Onnx.h"

#define GET_OP_CLASSES
#include "dialects/onnx/ops/microsoft/Experts.h.inc"

#endif // SHARDC_DIALECTS_ONNX_OPS_MICROSOFT_EXPERTS_H
