//===- Import.h - From an ONNX file to a raw module -----------------------===//
//
// The raw module says what the file says, one op a node, and no more:
//
//   module attributes {onnx.opset = 17 : i64, onnx.model_folder = "dir",
//                      onnx.model_file = "model.onnx"} {
//     func.func @main(
//         %x: tensor<?x96xf32, #dist.value<[batch, 96]>> {onnx.name = "x"})
//         -> (tensor<*x!onnx.unknown> {onnx.name = "y"}) {
//       %w = onnx.Weight {file = "model.onnx", length = 36864, name = "w",
//                         offset = 120} : () -> tensor<96x96xf32>
//       %y = onnx.MatMul %x, %w : ... -> tensor<*x!onnx.unknown>
//       return %y
//     }
//   }
//
// - Results have no types yet: shape inference finds them.
// - Tensors of at most 256 bytes are onnx.Constant, larger ones onnx.Weight.
// - Absent operands are one onnx.None, trailing ones are left out; attributes
//   that a node leaves out have ONNX's defaults for the model's opset.
// - Ops are at locations named after their nodes, or "Op -> first output".
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_COMPILER_IMPORT_IMPORT_H
#define SHARDC_COMPILER_IMPORT_IMPORT_H

#include "compiler/import/Annotations.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace shardc::importer {

class Unsupported;

/// What the graph says and the module does not.
struct GraphRecord {
  Annotations annotations;
  /// Of nodes as they became ops: functions are inlined. Only where the model
  /// has annotations, or `wantsOutputs`.
  std::vector<NodeOutputs> outputs;
  bool wantsOutputs = false;
};

/// Loads the dialects that it needs. Null after an error, which is reported at
/// the node or tensor, or at a location named after the file. With `found`
/// what is unsupported is no error: values that it leaves unknown have no type.
mlir::OwningOpRef<mlir::ModuleOp> importOnnx(mlir::MLIRContext &context,
                                             llvm::StringRef path,
                                             Unsupported *found = nullptr,
                                             GraphRecord *record = nullptr);

} // namespace shardc::importer

#endif // SHARDC_COMPILER_IMPORT_IMPORT_H
