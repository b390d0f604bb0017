//===- Attention.h - Attention, RotaryEmbedding ---------------------------===//
#ifndef SHARDC_DIALECTS_ONNX_OPS_ATTENTION_H
#define SHARDC_DIALECTS_ONNX_OPS_ATTENTION_H

#include "dialects/onnx/Onnx.h"

#define GET_OP_CLASSES
#include "dialects/onnx/ops/Attention.h.inc"

namespace shardc::onnx {

/// Numbers of the optional operands of AttentionOp.
struct AttentionOperand {
  enum : unsigned { Mask = 3, PastKey, PastValue, Lengths, Sinks };
};

} // namespace shardc::onnx

#endif // SHARDC_DIALECTS_ONNX_OPS_ATTENTION_H
