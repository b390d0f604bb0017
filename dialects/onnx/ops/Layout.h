//===- Layout.h - Reshape, Transpose, Slice, ... --------------------------===//
#ifndef SHARDC_DIALECTS_ONNX_OPS_LAYOUT_H
#define SHARDC_DIALECTS_ONNX_OPS_LAYOUT_H

#include "dialects/onnx/Onnx.h"

#define GET_OP_CLASSES
#include "dialects/onnx/ops/Layout.h.inc"

#endif // SHARDC_DIALECTS_ONNX_OPS_LAYOUT_H
