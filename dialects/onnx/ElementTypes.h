//===- ElementTypes.h - ONNX's tensor element types -----------------------===//
#ifndef SHARDC_DIALECTS_ONNX_ELEMENTTYPES_H
#define SHARDC_DIALECTS_ONNX_ELEMENTTYPES_H

#include "mlir/IR/Types.h"

namespace shardc::onnx {

/// The type with ONNX's number (TensorProto.DataType): signed integers are
/// signless (i64), unsigned ones unsigned (ui8), bool is i1. Null for types
/// that the compiler does not have (strings, complex numbers).
mlir::Type elementTypeOf(int64_t number, mlir::MLIRContext *context);

/// ONNX's number of the type, which has one.
int64_t elementNumberOf(mlir::Type type);

/// Whether programs can hold elements of the type: not those of less than eight
/// bits but bool.
bool isStored(mlir::Type type);

} // namespace shardc::onnx

#endif // SHARDC_DIALECTS_ONNX_ELEMENTTYPES_H
