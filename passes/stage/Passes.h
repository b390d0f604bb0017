//===- Passes.h - From sharded to staged ----------------------------------===//
#ifndef SHARDC_PASSES_STAGE_PASSES_H
#define SHARDC_PASSES_STAGE_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace shardc::stage {

/// On the module, where it is asked for: where it was cut, as JSON; the "cuts" or
/// "stages" of a plan (PlannedCuts.h, GivenStages.h).
inline constexpr llvm::StringLiteral kStagesAttr = "dist.stages";

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/stage/Passes.h.inc"

} // namespace shardc::stage

#endif // SHARDC_PASSES_STAGE_PASSES_H
