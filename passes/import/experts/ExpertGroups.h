//===- ExpertGroups.h - Experts on rows that are sorted by expert ---------===//
//
// Transformers' grouped_mm, read backwards. With m = n k choices in a row:
//
//   experts, order = TopK(indices, k = m, smallest first)      a sort
//   ends = CumSum(counts of each expert)                       read by the host
//   rows = x[order / k]
//   h = Concat of rows[ends[e - 1]..ends[e]] up[e]             one product each
//   ...
//   y * weights[order], put back by the inverse of order, summed over k
//
// This is the same as each choice through its own expert only if the ends are
// those of the sorted experts; so what computes them is checked, too.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_IMPORT_EXPERTS_EXPERTGROUPS_H
#define SHARDC_PASSES_IMPORT_EXPERTS_EXPERTGROUPS_H

#include "passes/import/experts/ExpertParts.h"

namespace shardc::import {

/// Reads a sum over the choices of each token, [n, k, o]. `reads` is the op
/// that reads the ends, which nobody needs any more then.
std::optional<Mixture> readGroups(onnx::ReduceSumOp sum,
                                  mlir::Operation *&reads);

} // namespace shardc::import

#endif // SHARDC_PASSES_IMPORT_EXPERTS_EXPERTGROUPS_H
