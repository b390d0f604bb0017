//===- Dynamic.h - ReadSizes, NonZero, Compress ---------------------------===//
#ifndef SHARDC_DIALECTS_ONNX_OPS_DYNAMIC_H
#define SHARDC_DIALECTS_ONNX_OPS_DYNAMIC_H

#include "dialects/onnx/Onnx.h"

#define GET_OP_CLASSES
#include "dialects/onnx/ops/Dynamic.h.inc"

#endif // SHARDC_DIALECTS_ONNX_OPS_DYNAMIC_H
