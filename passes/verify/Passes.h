//===- Passes.h - What each phase guarantees ------------------------------===//
#ifndef SHARDC_PASSES_VERIFY_PASSES_H
#define SHARDC_PASSES_VERIFY_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace shardc::verify {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/verify/Passes.h.inc"

} // namespace shardc::verify

#endif // SHARDC_PASSES_VERIFY_PASSES_H
