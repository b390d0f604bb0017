//===- Onnx.h - The onnx dialect: what is computed ------------------------===//
//
// See Onnx.td. One op family a file in ops/: definition (.td), shape functions
// and sharding rules (.cpp).
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_DIALECTS_ONNX_ONNX_H
#define SHARDC_DIALECTS_ONNX_ONNX_H

#include "dialects/onnx/ShapeInference.h"
#include "dialects/onnx/ShardingRule.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace shardc::onnx {

/// Rules of the reduction family, by its ops' shared attributes.
ShardingRule reduceRule(mlir::Operation *op);
PartialRule reducePartialRule(mlir::Operation *op);
ShardingRule argRule(mlir::Operation *op);

} // namespace shardc::onnx

#include "dialects/onnx/OnnxDialect.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/onnx/OnnxTypes.h.inc"

#include "dialects/onnx/OnnxInterfaces.h.inc"

#define GET_OP_CLASSES
#include "dialects/onnx/ops/Activation.h.inc"
#include "dialects/onnx/ops/Arithmetic.h.inc"
#include "dialects/onnx/ops/Attention.h.inc"
#include "dialects/onnx/ops/Contraction.h.inc"
#include "dialects/onnx/ops/Indexing.h.inc"
#include "dialects/onnx/ops/Layout.h.inc"
#include "dialects/onnx/ops/Logic.h.inc"
#include "dialects/onnx/ops/Math.h.inc"
#include "dialects/onnx/ops/Normalization.h.inc"
#include "dialects/onnx/ops/Reduction.h.inc"
#include "dialects/onnx/ops/Source.h.inc"

#endif // SHARDC_DIALECTS_ONNX_ONNX_H
