//===- Pooling.h - Windows that become one element -----------------------===//
#ifndef SHARDC_DIALECTS_ONNX_OPS_POOLING_H
#define SHARDC_DIALECTS_ONNX_OPS_POOLING_H

#include "dialects/onnx/Onnx.h"

#define GET_OP_CLASSES
#include "dialects/onnx/ops/Pooling.h.inc"

#endif // SHARDC_DIALECTS_ONNX_OPS_POOLING_H
