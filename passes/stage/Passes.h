//===- Passes.h - From sharded to staged ----------------------------------===//
#ifndef SHARDC_PASSES_STAGE_PASSES_H
#define SHARDC_PASSES_STAGE_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace shardc::stage {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/stage/Passes.h.inc"

} // namespace shardc::stage

#endif // SHARDC_PASSES_STAGE_PASSES_H
