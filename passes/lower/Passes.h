//===- Passes.h - From partitioned to lowered -----------------------------===//
#ifndef SHARDC_PASSES_LOWER_PASSES_H
#define SHARDC_PASSES_LOWER_PASSES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace shardc::lower {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/lower/Passes.h.inc"

} // namespace shardc::lower

#endif // SHARDC_PASSES_LOWER_PASSES_H
