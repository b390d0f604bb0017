//===- Attention.h - Attention, RotaryEmbedding ---------------------------===//
#ifndef SHARDC_DIALECTS_ONNX_OPS_ATTENTION_H
#define SHARDC_DIALECTS_ONNX_OPS_ATTENTION_H

#include "dialects/onnx/Onnx.h"

#define GET_OP_CLASSES
#include "dialects/onnx/ops/Attention.h.inc"

#endif // SHARDC_DIALECTS_ONNX_OPS_ATTENTION_H
