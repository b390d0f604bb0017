//===- Logic.h - Comparisons, Where ---------------------------------------===//
#ifndef SHARDC_DIALECTS_ONNX_OPS_LOGIC_H
#define SHARDC_DIALECTS_ONNX_OPS_LOGIC_H

#include "dialects/onnx/Onnx.h"

#define GET_OP_CLASSES
#include "dialects/onnx/ops/Logic.h.inc"

#endif // SHARDC_DIALECTS_ONNX_OPS_LOGIC_H
