//===- Activation.h - Nonlinear functions ---------------------------------===//
#ifndef SHARDC_DIALECTS_ONNX_OPS_ACTIVATION_H
#define SHARDC_DIALECTS_ONNX_OPS_ACTIVATION_H

#include "dialects/onnx/Onnx.h"

#define GET_OP_CLASSES
#include "dialects/onnx/ops/Activation.h.inc"

#endif // SHARDC_DIALECTS_ONNX_OPS_ACTIVATION_H
