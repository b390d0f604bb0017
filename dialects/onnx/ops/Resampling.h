//===- Resampling.h - Images at other positions --------------------------===//
#ifndef SHARDC_DIALECTS_ONNX_OPS_RESAMPLING_H
#define SHARDC_DIALECTS_ONNX_OPS_RESAMPLING_H

#include "dialects/onnx/Onnx.h"

#define GET_OP_CLASSES
#include "dialects/onnx/ops/Resampling.h.inc"

#endif // SHARDC_DIALECTS_ONNX_OPS_RESAMPLING_H
