//===- Indexing.h - Gather, Scatter, TopK ---------------------------------===//
#ifndef SHARDC_DIALECTS_ONNX_OPS_INDEXING_H
#define SHARDC_DIALECTS_ONNX_OPS_INDEXING_H

#include "dialects/onnx/Onnx.h"

#define GET_OP_CLASSES
#include "dialects/onnx/ops/Indexing.h.inc"

#endif // SHARDC_DIALECTS_ONNX_OPS_INDEXING_H
