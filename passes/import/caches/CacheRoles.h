//===- CacheRoles.h - What a value is for, in whichever function ----------===//
//
// Two functions of one model, a prompt and a step of a merged decoder, say, use
// the same weights. What reads a value, up to the first weight on the way,
// tells it from all other values, in both functions alike:
//
//   prompt                                   step
//   %k = keys of the encoder, returned       %past = an input
//   %a = Attention %q, %k, %v                %a = Attention %q, %past, ...
//   MatMul %a, w7                            MatMul %a, w7
//
// The role of %k and of %past is "operand 1 of Attention, 0 of MatMul by w7".
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_IMPORT_CACHES_CACHEROLES_H
#define SHARDC_PASSES_IMPORT_CACHES_CACHEROLES_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Value.h"

#include <optional>

namespace shardc::import {

struct Role {
  /// Names of ops, and the numbers of the operands where the value comes in.
  llvm::SmallVector<std::pair<llvm::StringRef, unsigned>, 4> path;
  mlir::DictionaryAttr weight; ///< an operand of the last op

  bool operator==(const Role &o) const {
    return path == o.path && weight == o.weight;
  }
};

/// Transposes and reshapes do not count, returns neither. None where the value
/// or what becomes of it has several readers, or meets no weight.
std::optional<Role> roleOf(mlir::Value value);

/// Known to be empty: what a step gives for a cache that it only reads.
bool hasNoElements(mlir::Value value);

} // namespace shardc::import

#endif // SHARDC_PASSES_IMPORT_CACHES_CACHEROLES_H
