//===- RowNumbers.h - What a request's sizes alone say --------------------===//
//
// Masks, places and lengths of a request whose mask hides nothing are numbers
// for each pair of sizes: keys before it, and new positions.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_IMPORT_ROWS_ROWNUMBERS_H
#define SHARDC_PASSES_IMPORT_ROWS_ROWNUMBERS_H

#include "dialects/onnx/evaluate/Evaluate.h"
#include "passes/import/rows/RowSizes.h"

namespace shardc::import {

struct RequestSize {
  int64_t past, count;
  bool operator<(const RequestSize &other) const {
    return std::pair(past, count) < std::pair(other.past, other.count);
  }
};

/// By value: those that sizes alone say.
using RowNumbers = llvm::DenseMap<mlir::Value, onnx::evaluate::Tensor>;

RowNumbers numbersOf(mlir::func::FuncOp function, const RowSizes &sizes,
                     RequestSize at);
/// The same with other sizes; an input that `isPlaces` has the places of the new
/// positions, or of the first. A mask is 0 where no position is.
RowNumbers numbersOf(mlir::func::FuncOp function, onnx::evaluate::Sizes sizes,
                     RequestSize at,
                     llvm::function_ref<bool(mlir::BlockArgument)> isPlaces);

/// Whether a mask leaves no weight to a key, by what it says of it and of the
/// query's own: of numbers that are added, or of bools.
bool isHidden(bool isAdded, double key, double own);

/// Numbers above `small` that lengths and places may be compared with, among the
/// values that `known` has: thresholds, limits and divisors. Nothing where one
/// is too large to be tried, or there are too many.
std::optional<llvm::SmallVector<int64_t>>
thresholdsOf(mlir::func::FuncOp function, const RowNumbers &known,
             int64_t small);

} // namespace shardc::import

#endif // SHARDC_PASSES_IMPORT_ROWS_ROWNUMBERS_H
