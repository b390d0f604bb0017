//===- Passes.h - From partitioned to lowered -----------------------------===//
#ifndef SHARDC_PASSES_LOWER_PASSES_H
#define SHARDC_PASSES_LOWER_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace shardc::lower {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/lower/Passes.h.inc"

} // namespace shardc::lower

#endif // SHARDC_PASSES_LOWER_PASSES_H
