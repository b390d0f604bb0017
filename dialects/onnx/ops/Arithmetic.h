//===- Arithmetic.h - Add, Mul, ... ---------------------------------------===//
#ifndef SHARDC_DIALECTS_ONNX_OPS_ARITHMETIC_H
#define SHARDC_DIALECTS_ONNX_OPS_ARITHMETIC_H

#include "dialects/onnx/Onnx.h"

#define GET_OP_CLASSES
#include "dialects/onnx/ops/Arithmetic.h.inc"

#endif // SHARDC_DIALECTS_ONNX_OPS_ARITHMETIC_H
