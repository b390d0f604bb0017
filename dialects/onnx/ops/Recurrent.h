//===- Recurrent.h - Networks with a state, step by step -----------------===//
#ifndef SHARDC_DIALECTS_ONNX_OPS_RECURRENT_H
#define SHARDC_DIALECTS_ONNX_OPS_RECURRENT_H

#include "dialects/onnx/Onnx.h"

#define GET_OP_CLASSES
#include "dialects/onnx/ops/Recurrent.h.inc"

#endif // SHARDC_DIALECTS_ONNX_OPS_RECURRENT_H
