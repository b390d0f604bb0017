//===- Reduction.h - ReduceSum, ... ---------------------------------------===//
#ifndef SHARDC_DIALECTS_ONNX_OPS_REDUCTION_H
#define SHARDC_DIALECTS_ONNX_OPS_REDUCTION_H

#include "dialects/onnx/Onnx.h"

#define GET_OP_CLASSES
#include "dialects/onnx/ops/Reduction.h.inc"

#endif // SHARDC_DIALECTS_ONNX_OPS_REDUCTION_H
