//===- StaticCaches.h - Caches with room become caches that grow ----------===//
//
// A static cache has a place for each position that there may ever be, and masks
// hide those which hold nothing yet. A request computes the same with a cache
// that has just its own positions, so long as it writes them one after the
// other:
//
//   past [b, 8, 64, 16], places [s] an input       past [b, 8, p, 16]
//   present = ScatterElements past, places, k      present = Concat past, k
//   mask = Range(64) <= places                     mask = Range(p + s) <= p + Range(s)
//
// A model may write one position of each of its rows at a time.
//
// That masks hide all other places, and that nothing else tells how many there
// are, is evaluated at some p and s.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_IMPORT_ROWS_STATICCACHES_H
#define SHARDC_PASSES_IMPORT_ROWS_STATICCACHES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace shardc::import {

/// Whether outputs are caches into which an input says where to write.
bool hasStaticCaches(mlir::func::FuncOp function);

/// The function with caches that grow in place of static ones, if it has any;
/// an error that names the node if they cannot. Inputs that said where have no
/// uses any more: their numbers are added to `unused`.
mlir::LogicalResult growStaticCaches(mlir::func::FuncOp function,
                                     llvm::SmallVectorImpl<unsigned> &unused);

} // namespace shardc::import

#endif // SHARDC_PASSES_IMPORT_ROWS_STATICCACHES_H
