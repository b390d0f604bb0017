//===- Structures.h - What a model is made of, for its reader -------------===//
//
// Ops that stand for a part of an architecture. Some exporters write them,
// others spell most of them out, and recovery makes them:
//
//   structureOf(onnx.Swish)->name        "SiLU"
//   structureOf(onnx.Conv)->isRecovered  false: all exporters write it
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_DIALECTS_ONNX_STRUCTURES_H
#define SHARDC_DIALECTS_ONNX_STRUCTURES_H

#include "mlir/IR/Operation.h"

namespace shardc::onnx {

struct Structure {
  llvm::StringLiteral op, name;
  bool isRecovered;
};

/// Null if the op is none.
const Structure *structureOf(mlir::Operation *op);

} // namespace shardc::onnx

#endif // SHARDC_DIALECTS_ONNX_STRUCTURES_H
