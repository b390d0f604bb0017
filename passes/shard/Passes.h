//===- Passes.h - From imported to sharded --------------------------------===//
#ifndef SHARDC_PASSES_SHARD_PASSES_H
#define SHARDC_PASSES_SHARD_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace shardc::shard {

/// On the module: the axes that may split matrices outside of experts.
inline constexpr llvm::StringLiteral kMatrixAxesAttr = "dist.matrix_axes";

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/shard/Passes.h.inc"

} // namespace shardc::shard

#endif // SHARDC_PASSES_SHARD_PASSES_H
