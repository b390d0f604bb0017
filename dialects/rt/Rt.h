//===- Rt.h - The rt dialect: how a rank executes -------------------------===//
#ifndef SHARDC_DIALECTS_RT_RT_H
#define SHARDC_DIALECTS_RT_RT_H

#include "dialects/dist/Dist.h"

#include "mlir/Interfaces/InferTypeOpInterface.h"

#include "dialects/rt/RtDialect.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/rt/RtTypes.h.inc"

#define GET_OP_CLASSES
#include "dialects/rt/RtOps.h.inc"

namespace shardc::rt {

/// The symbol for how many positions the caches of a session's state hold; 0
/// where past is an input like any other.
dist::DimExpr cacheCapacity();
/// Sizes of the memory of a cache that has these along `dim`: at least the
/// capacity.
llvm::SmallVector<dist::DimExpr, 4>
cacheRoom(llvm::ArrayRef<dist::DimExpr> dims, int64_t dim);
/// Strides of row-major dims, `first` of which lies outside of all others.
llvm::SmallVector<dist::DimExpr, 4>
stridesWithFirst(llvm::ArrayRef<dist::DimExpr> dims, int64_t first);

/// Of a program: what was decided of each collective beside a product, for
/// --explain. A list of dictionaries: node, kind, rows, parts (1: as a whole),
/// and the seconds before and after.
inline constexpr llvm::StringLiteral kOverlapAttr = "rt.overlap";

/// Kinds of a generated kernel's operands.
inline constexpr llvm::StringLiteral kColumn = "column", kRow = "row";

/// Bytes of one element as the runtime stores it: a bool takes one.
int64_t elementBytes(mlir::Type element);
/// Bytes of so many elements without gaps: those of 4 or 2 bits share them.
dist::DimExpr storageBytes(mlir::Type element, dist::DimExpr count);

} // namespace shardc::rt

#endif // SHARDC_DIALECTS_RT_RT_H
