//===- ExpertTerms.h - Experts one by one ---------------------------------===//
//
// Exporters that unroll the loop over experts add up one term each:
//
//   mlp_e(x) * r[:, e]                   r [n, e] is 0 for most
//   scatter(mlp_e(x[t]) * w[t, i] to t)  where expert e was chosen
//                                        (ExpertPlaces.h), in zeros or added to
//                                        the terms so far
//
// An expert that no term stands for adds nothing: tracing leaves out those that
// had no token. Its matrices are zeros.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_IMPORT_EXPERTS_EXPERTTERMS_H
#define SHARDC_PASSES_IMPORT_EXPERTS_EXPERTTERMS_H

#include "passes/import/experts/ExpertParts.h"

#include "dialects/onnx/ops/Arithmetic.h"

namespace shardc::import {

/// The term of one expert.
struct ExpertTerm {
  int64_t expert = 0, numExperts = 0;
  mlir::Value tokens, indices, weights;
  mlir::Value gate, up, down; ///< [d, f], null without gate; [d, f], [f, o]
  bool isUpTransposed = false, isDownTransposed = false; ///< [f, d]; [o, f]
  ExpertActivation activation;
  mlir::Operation *reads = nullptr; ///< reads how many tokens there are
};

std::optional<ExpertTerm> readExpertTerm(mlir::Value value);

/// Reads the last sum of a chain of such terms, an Add or a scatter. Stacks their matrices, which is
/// done once when the weights are loaded.
std::optional<Mixture>
readTerms(mlir::OpBuilder &builder, mlir::Operation *last,
          llvm::SmallVectorImpl<mlir::Operation *> &reads);

} // namespace shardc::import

#endif // SHARDC_PASSES_IMPORT_EXPERTS_EXPERTTERMS_H
