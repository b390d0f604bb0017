//===- ControlFlow.h - If, Loop, Scan, Yield ------------------------------===//
#ifndef SHARDC_DIALECTS_ONNX_OPS_CONTROLFLOW_H
#define SHARDC_DIALECTS_ONNX_OPS_CONTROLFLOW_H

#include "dialects/onnx/Onnx.h"

#define GET_OP_CLASSES
#include "dialects/onnx/ops/ControlFlow.h.inc"

#endif // SHARDC_DIALECTS_ONNX_OPS_CONTROLFLOW_H
