//===- Attributes.h - ONNX's attributes and tensors as MLIR's -------------===//
//
//   attribute { name: "perm" ints: 0 ints: 2 ints: 1 }   array<i64: 0, 2, 1>
//   attribute { name: "epsilon" f: 1e-5 }                1.0e-5 : f32
//   tensor { dims: 2 data_type: INT64 int64_data: 0 -1 } dense<[0, -1]>
//   tensor { ... raw_data: <64 MiB> }                    a range of a file
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_COMPILER_IMPORT_ATTRIBUTES_H
#define SHARDC_COMPILER_IMPORT_ATTRIBUTES_H

#include "compiler/import/ModelFile.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

namespace shardc::importer {

/// For a number of TensorProto.DataType; null for what shardc cannot compute
/// with yet, which is less than the onnx dialect can name.
mlir::Type elementType(mlir::MLIRContext *context, int32_t dataType);
std::string elementName(int32_t dataType);

/// A tensor by value where it is small or stands in the file in another form
/// than in memory, else by place (`value` is null).
struct TensorValue {
  mlir::RankedTensorType type;
  mlir::DenseElementsAttr value;
  DataRange range;
};
/// `element` is the tensor's elementType, not null.
llvm::Expected<TensorValue> readTensor(ModelFile &file,
                                       const ::onnx::TensorProto &tensor,
                                       mlir::Type element);

/// Null for kinds that the onnx dialect has no attributes for, such as graphs;
/// `why` then says so. Tensors must be small.
mlir::Attribute convertAttribute(mlir::MLIRContext *context, ModelFile &file,
                                 const ::onnx::AttributeProto &attribute,
                                 std::string &why);

} // namespace shardc::importer

#endif // SHARDC_COMPILER_IMPORT_ATTRIBUTES_H
