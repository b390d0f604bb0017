//===- Product.h - com.microsoft: fused matrix products ---===//
#ifndef SHARDC_DIALECTS_ONNX_OPS_MICROSOFT_PRODUCT_H
#define SHARDC_DIALECTS_ONNX_OPS_MICROSOFT_PRODUCT_H

#include "dialects/onnx/Onnx.h"

#define GET_OP_CLASSES
#include "dialects/onnx/ops/microsoft/Product.h.inc"

#endif // SHARDC_DIALECTS_ONNX_OPS_MICROSOFT_PRODUCT_H
