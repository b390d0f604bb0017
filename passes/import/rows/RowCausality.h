//===- RowCausality.h - Whether a text may come in parts ------------------===//
//
// What a position has must follow from it and from those before it, however
// they were spread over steps. Then a prompt may come in parts, be computed
// again, or begin with pages that another text has filled:
//
//   attention shows each query its own key and of those before it the same as
//   in any other step, and
//   keys, values and outputs are made of tokens and of their places, not of how
//   many there are in a step
//
// Masks and places are numbers that sizes say, where nothing is padding: they
// are evaluated, for small sizes and for those around each number that they are
// compared with. Of past = 2 and sequence = 2,
//
//   Sub(ReduceSum(attention_mask), 2) + Range(2)    [2, 3]
//   as with past = 3, sequence = 1                     [3]    places
//
//   Range(2)                                        [0, 1]
//                                                      [0]    not places
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_IMPORT_ROWS_ROWCAUSALITY_H
#define SHARDC_PASSES_IMPORT_ROWS_ROWCAUSALITY_H

#include "passes/import/rows/RowSizes.h"

namespace shardc::import {

/// Of a function with caches, of requests whose attention_mask is 1 everywhere
/// and whose position_ids are the places of the new positions, as the runtime's
/// TextInputs.h gives them. False also where that is not known.
bool isCausal(mlir::func::FuncOp function, const RowSizes &sizes);

} // namespace shardc::import

#endif // SHARDC_PASSES_IMPORT_ROWS_ROWCAUSALITY_H
