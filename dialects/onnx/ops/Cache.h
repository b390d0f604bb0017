//===- Cache.h - Caches of keys and values --------------------------------===//
#ifndef SHARDC_DIALECTS_ONNX_OPS_CACHE_H
#define SHARDC_DIALECTS_ONNX_OPS_CACHE_H

#include "dialects/onnx/Onnx.h"

#define GET_OP_CLASSES
#include "dialects/onnx/ops/Cache.h.inc"

#endif // SHARDC_DIALECTS_ONNX_OPS_CACHE_H
