//===- Decompositions.h - Does what replaces an op compute the same? ------===//
//
// Operators of com.microsoft are replaced by ONNX's in shape inference. Each is
// compared with its definition (dialects/onnx/evaluate/microsoft) there, result
// by result, as recoveries are (Validator.h). Where they differ there is nothing
// to fall back to: an error at the node.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_IMPORT_VALIDATE_DECOMPOSITIONS_H
#define SHARDC_PASSES_IMPORT_VALIDATE_DECOMPOSITIONS_H

#include "dialects/onnx/ShapeInference.h"
#include "passes/import/validate/Validator.h"

#include "mlir/IR/PatternMatch.h"

namespace shardc::import {

/// Listens to the builder of a shape inference.
class Decompositions final : public mlir::RewriterBase::Listener {
public:
  /// Checks all that `inference` replaces, as long as this lives.
  Decompositions(onnx::ShapeInference &inference, Validator &validator);
  ~Decompositions() override;
  Decompositions(const Decompositions &) = delete;
  Decompositions &operator=(const Decompositions &) = delete;

  /// Results that nobody uses may have a null value.
  void notifyOperationReplaced(mlir::Operation *op,
                               mlir::ValueRange values) override;

  /// Inference erases ops while this listens, and makes others in their place.
  void notifyOperationInserted(mlir::Operation *op,
                               mlir::OpBuilder::InsertPoint previous) override;

  /// Whether there was an error, which was emitted.
  bool hasFailed = false;

private:
  void assume();
  void check(llvm::ArrayRef<mlir::Value> results,
             llvm::ArrayRef<mlir::Value> values);
  void readKnown(Region &region) const;

  onnx::ShapeInference &inference;
  Validator &validator;
  mlir::Block *block = nullptr; ///< that the validator entered
};

} // namespace shardc::import

#endif // SHARDC_PASSES_IMPORT_VALIDATE_DECOMPOSITIONS_H
