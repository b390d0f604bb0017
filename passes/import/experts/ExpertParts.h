//===- ExpertParts.h - What mixtures of experts are made of ---------------===//
//
// The pieces that all spellings share, read backwards:
//
//   Mul(Swish(g), u)                     an activation, gated
//   MatMul(x, GatherND(up, chosen))      rows times the expert of each
//   Expand [n, 1, d] -> [n, k, d]        each token once for each choice
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_IMPORT_EXPERTS_EXPERTPARTS_H
#define SHARDC_PASSES_IMPORT_EXPERTS_EXPERTPARTS_H

#include "dialects/onnx/ops/Reduction.h"

#include <optional>

namespace shardc::import {

/// The attributes of onnx.MixtureOfExperts that say what is between its
/// products, and the value that it is computed from.
struct ExpertActivation {
  mlir::Value input;
  llvm::StringRef activation, gate = "none";
  double alpha = 1, shift = 0;
  std::optional<double> limit;
};

/// What a function of one value is called in the op, and the value; null if it
/// is none of the op's.
mlir::Value readActivationFunction(mlir::Value value, ExpertActivation &result);

/// Reads the operand of the second product.
std::optional<ExpertActivation> readExpertActivation(mlir::Value value);

/// m rows of d times matrices [e, d, h], the expert of each row by `chosen`,
/// which has an element for each row. The rows' leading dims may be several.
struct ChosenProduct {
  mlir::Value rows, chosen, experts;
  bool isTransposed = false; ///< experts are [e, h, d]
  mlir::Value bias;          ///< [e, h], of the same experts; may be null
};

/// Reads [m, h] as such a product, with its bias.
std::optional<ChosenProduct> readChosenProduct(mlir::Value value);

/// Everything that the op needs.
struct Mixture {
  mlir::Value tokens;           ///< reshapes to [n, d]
  mlir::Value indices, weights; ///< [n, k]
  mlir::Value up, down;         ///< [e, d, h] and [e, f, o], or each transposed
  bool isUpTransposed = false, isDownTransposed = false;
  mlir::Value upBias, downBias; ///< reshape to [e, h] and [e, o]; may be null
  ExpertActivation activation;
};

/// The table and the choices of a Gather or GatherND of whole rows.
std::optional<std::pair<mlir::Value, mlir::Value>>
readGatheredRows(mlir::Value value);

/// Weights [n, e] that are 0 but where a TopK chose: its choices and theirs.
bool readScattered(mlir::Value dense, Mixture &mixture);

/// v and w for v * w, where w has a last dim of 1 and v has not.
std::optional<std::pair<mlir::Value, mlir::Value>>
readWeighted(mlir::Value value);

/// Is it a sum over that axis alone, which goes?
bool sumsAxis(onnx::ReduceSumOp sum, int64_t axis);

} // namespace shardc::import

#endif // SHARDC_PASSES_IMPORT_EXPERTS_EXPERTPARTS_H
