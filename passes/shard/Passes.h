//===- Passes.h - From imported to sharded --------------------------------===//
#ifndef SHARDC_PASSES_SHARD_PASSES_H
#define SHARDC_PASSES_SHARD_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace shardc::shard {

/// On the module: the axes that may split matrices outside of experts.
inline constexpr llvm::StringLiteral kMatrixAxesAttr = "dist.matrix_axes";
/// On the module, where it is asked for: the plan as JSON (plan/PlanFile.h), by
/// function, with what `ep` splits outside of experts.
inline constexpr llvm::StringLiteral kPlanAttr = "dist.plan";
/// On the module, where it is asked for: JSON of what other shardings of a node
/// would cost (PriceAlternatives.h), by function.
inline constexpr llvm::StringLiteral kAlternativesAttr = "dist.alternatives";
/// On the module, where it is asked for: JSON of the seconds that a run is
/// predicted to take, by profile.
inline constexpr llvm::StringLiteral kPredictedAttr = "dist.predicted";

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/shard/Passes.h.inc"

} // namespace shardc::shard

#endif // SHARDC_PASSES_SHARD_PASSES_H
