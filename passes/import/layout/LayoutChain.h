//===- LayoutChain.h - Reshape, Transpose, Reshape ------------------------===//
//
// Where a Reshape only merges dims before a Transpose, the Transpose can move
// the dims themselves, and one Reshape behind it says the rest:
//
//   [b, h, s, d] -> [b*h, s, d] -> perm 0 2 1 -> [b*h, d, s] -> [b, h, d, s]
//   = perm 0 1 3 2
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_IMPORT_LAYOUT_LAYOUTCHAIN_H
#define SHARDC_PASSES_IMPORT_LAYOUT_LAYOUTCHAIN_H

#include "dialects/dist/algebra/DimExpr.h"

namespace shardc::import {

/// The permutation of `dims` that equals a Reshape to `merged` and a Transpose
/// by `perm`, up to a Reshape; nothing where that Reshape cuts a dim.
std::optional<llvm::SmallVector<int64_t>>
permutationOf(llvm::ArrayRef<dist::DimExpr> dims,
              llvm::ArrayRef<dist::DimExpr> merged,
              llvm::ArrayRef<int64_t> perm);

bool isIdentity(llvm::ArrayRef<int64_t> perm);

} // namespace shardc::import

#endif // SHARDC_PASSES_IMPORT_LAYOUT_LAYOUTCHAIN_H
