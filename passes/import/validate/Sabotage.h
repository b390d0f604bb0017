//===- Sabotage.h - Recoveries that are broken on purpose -----------------===//
//
// `shard-opt --shardc-test-break-recovery="a norm"` makes every recovery of that
// name compute something else, so that tests see comparison undo it. Of
// "microsoft.BiasGelu", it is what replaces such an op.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_IMPORT_VALIDATE_SABOTAGE_H
#define SHARDC_PASSES_IMPORT_VALIDATE_SABOTAGE_H

#include "mlir/IR/Value.h"

namespace shardc::import {

/// Changes what `made` computes if recoveries called `what` are to be broken:
/// an attribute of the op that it is made by, the order of its operands, or
/// one of them.
void sabotage(mlir::Value made, llvm::StringRef what);

} // namespace shardc::import

#endif // SHARDC_PASSES_IMPORT_VALIDATE_SABOTAGE_H
