//===- Contraction.h - MatMul, Gemm, Conv ---------------------------------===//
#ifndef SHARDC_DIALECTS_ONNX_OPS_CONTRACTION_H
#define SHARDC_DIALECTS_ONNX_OPS_CONTRACTION_H

#include "dialects/onnx/Onnx.h"

#define GET_OP_CLASSES
#include "dialects/onnx/ops/Contraction.h.inc"

#endif // SHARDC_DIALECTS_ONNX_OPS_CONTRACTION_H
