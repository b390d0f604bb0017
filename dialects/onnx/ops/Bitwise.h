//===- Bitwise.h - The bits of integers ----------------------------------===//
#ifndef SHARDC_DIALECTS_ONNX_OPS_BITWISE_H
#define SHARDC_DIALECTS_ONNX_OPS_BITWISE_H

#include "dialects/onnx/Onnx.h"

#define GET_OP_CLASSES
#include "dialects/onnx/ops/Bitwise.h.inc"

#endif // SHARDC_DIALECTS_ONNX_OPS_BITWISE_H
