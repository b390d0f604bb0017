//===- StaticTrial.h - Whether a cache with room is one that grows --------===//
//
// Masks and places of a request are numbers: with static caches and with those
// that grow they are evaluated side by side. For 2 new positions behind 3, with
// room for 8:
//
//   mask   shown shown shown shown hidden hidden hidden hidden    static
//          shown shown shown shown hidden                         grown
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_IMPORT_ROWS_STATICTRIAL_H
#define SHARDC_PASSES_IMPORT_ROWS_STATICTRIAL_H

#include "passes/import/rows/PlaceDims.h"
#include "passes/import/rows/RowNumbers.h"

#include "mlir/IR/IRMapping.h"

namespace shardc::import {

struct StaticSizes {
  dist::DimExpr batch, past, count; ///< count: the new positions
  dist::DimExpr room;               ///< positions of a static cache
};

class StaticTrial {
public:
  /// Of the function with static caches; the inputs say where they are written.
  StaticTrial(mlir::func::FuncOp before, const StaticSizes &sizes,
              llvm::ArrayRef<unsigned> places)
      : before(before), sizes(sizes), places(places) {}

  /// A value of it that must be the places of the new positions.
  void writes(mlir::Value at) { written.push_back(at); }

  /// `after` has its values by `clones`; an error that names the first op that
  /// says something else.
  mlir::LogicalResult compare(mlir::func::FuncOp after,
                              const mlir::IRMapping &clones,
                              const PlaceDims &dims);

private:
  bool chooseSizes(mlir::func::FuncOp after);
  RowNumbers numbers(mlir::func::FuncOp function, RequestSize at) const;
  mlir::LogicalResult checkPlaces(RequestSize at);
  std::string differenceAt(mlir::Operation &op, mlir::Operation &was,
                           const PlaceDims &dims, RequestSize at);
  std::string differenceOfMask(mlir::Operation &was, RequestSize at);

  mlir::func::FuncOp before;
  const StaticSizes sizes;
  const llvm::SmallVector<unsigned> places;
  int64_t room = 0;
  std::vector<RequestSize> requests;
  llvm::SmallVector<mlir::Value> written;
  RowNumbers ofBefore, ofAfter;       ///< of the request that is tried
  llvm::DenseSet<mlir::Value> hiding; ///< masks that do, of that request
};

} // namespace shardc::import

#endif // SHARDC_PASSES_IMPORT_ROWS_STATICTRIAL_H
