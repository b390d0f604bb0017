//===- Source.h - Weight, Constant, Shape, ... ----------------------------===//
#ifndef SHARDC_DIALECTS_ONNX_OPS_SOURCE_H
#define SHARDC_DIALECTS_ONNX_OPS_SOURCE_H

#include "dialects/onnx/Onnx.h"

#define GET_OP_CLASSES
#include "dialects/onnx/ops/Source.h.inc"

#endif // SHARDC_DIALECTS_ONNX_OPS_SOURCE_H
