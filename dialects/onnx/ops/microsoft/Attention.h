//===- Attention.h - com.microsoft: attention and rotary embedding ---===//
#ifndef SHARDC_DIALECTS_ONNX_OPS_MICROSOFT_ATTENTION_H
#define SHARDC_DIALECTS_ONNX_OPS_MICROSOFT_ATTENTION_H

#include "dialects/onnx/Onnx.h"

#define GET_OP_CLASSES
#include "dialects/onnx/ops/microsoft/Attention.h.inc"

#endif // SHARDC_DIALECTS_ONNX_OPS_MICROSOFT_ATTENTION_H
