//===- ElementTypes.h - ONNX's tensor element types -----------------------===//
#ifndef SHARDC_DIALECTS_ONNX_ELEMENTTYPES_H
#define SHARDC_DIALECTS_ONNX_ELEMENTTYPES_H

#include "mlir/IR/Types.h"

namespace shardc::onnx {

/// The type with ONNX's number (TensorProto.DataType): signed integers are
/// signless (i64), unsigned ones unsigned (ui8), bool is i1. Null for types
/// that the compiler does not have (strings, complex numbers).
mlir::Type elementTypeOf(int64_t number, mlir::MLIRContext *context);

} // namespace shardc::onnx

#endif // SHARDC_DIALECTS_ONNX_ELEMENTTYPES_H
