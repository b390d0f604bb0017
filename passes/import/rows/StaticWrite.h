//===- StaticWrite.h - New entries written into a cache with room ---------===//
//
// A static cache is as long as it ever gets; a step writes what is new at places
// that an input says, as exporters spell it:
//
//   ScatterElements past, places as [b, h, s, d], new        index_copy
//   Transpose (ScatterND (Transpose past), places as [s, 1], new)    index_put
//   ScatterND past, (i, j, place k), new                     the same, older
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_IMPORT_ROWS_STATICWRITE_H
#define SHARDC_PASSES_IMPORT_ROWS_STATICWRITE_H

#include "passes/import/Matching.h"

namespace shardc::import {

struct StaticWrite {
  mlir::BlockArgument past;
  mlir::Operation *scatter;
  /// Dim d of the scatter's data is dim order[d] of past.
  llvm::SmallVector<int64_t, 4> order;
  int64_t axis;       ///< of past, along which positions lie
  mlir::Value added;  ///< with the dims of past, in `order`
  mlir::Value places; ///< integers, one for each new position
};

/// How `present` was written, if it is past with entries in their places, and
/// nobody else reads past.
std::optional<StaticWrite> findStaticWrite(mlir::Value present);

} // namespace shardc::import

#endif // SHARDC_PASSES_IMPORT_ROWS_STATICWRITE_H
