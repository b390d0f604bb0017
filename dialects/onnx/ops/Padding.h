//===- Padding.h - Borders around a tensor -------------------------------===//
#ifndef SHARDC_DIALECTS_ONNX_OPS_PADDING_H
#define SHARDC_DIALECTS_ONNX_OPS_PADDING_H

#include "dialects/onnx/Onnx.h"

#define GET_OP_CLASSES
#include "dialects/onnx/ops/Padding.h.inc"

#endif // SHARDC_DIALECTS_ONNX_OPS_PADDING_H
