//===- ReplaceSizes.h - Other names for the sizes of a function -----------===//
#ifndef SHARDC_PASSES_IMPORT_ROWS_REPLACESIZES_H
#define SHARDC_PASSES_IMPORT_ROWS_REPLACESIZES_H

#include "dialects/dist/algebra/DimExpr.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"

namespace shardc::import {

/// By symbol what it is; none in terms of another.
using SizeAliases = llvm::StringMap<dist::DimExpr>;

/// Puts them into the types of all values, and into the attributes of ops.
void replaceSizes(mlir::func::FuncOp function, const SizeAliases &aliases);

} // namespace shardc::import

#endif // SHARDC_PASSES_IMPORT_ROWS_REPLACESIZES_H
