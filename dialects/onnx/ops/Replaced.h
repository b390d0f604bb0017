//===- Replaced.h - Ops that import makes of others ----------------------===//
#ifndef SHARDC_DIALECTS_ONNX_OPS_REPLACED_H
#define SHARDC_DIALECTS_ONNX_OPS_REPLACED_H

#include "dialects/onnx/Onnx.h"

#define GET_OP_CLASSES
#include "dialects/onnx/ops/Replaced.h.inc"

#endif // SHARDC_DIALECTS_ONNX_OPS_REPLACED_H
