//===- Math.h - Functions of one number -----------------------------------===//
#ifndef SHARDC_DIALECTS_ONNX_OPS_MATH_H
#define SHARDC_DIALECTS_ONNX_OPS_MATH_H

#include "dialects/onnx/Onnx.h"

#define GET_OP_CLASSES
#include "dialects/onnx/ops/Math.h.inc"

#endif // SHARDC_DIALECTS_ONNX_OPS_MATH_H
