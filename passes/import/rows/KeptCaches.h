//===- KeptCaches.h - Caches that a step only reads, computed again -------===//
//
// A merged decoder's prompt computes the keys of cross-attention, and its steps
// read them from caches. A step of rows computes them for sequences whose encoder
// output comes with it (EncoderKeys.h), so that its function does, too:
//
//   prompt   present = MatMul encoder_hidden_states, w      set
//   step     Attention q, past, ..                          keep
//   becomes  Attention q, (MatMul encoder_hidden_states, w), ..
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_IMPORT_ROWS_KEPTCACHES_H
#define SHARDC_PASSES_IMPORT_ROWS_KEPTCACHES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace shardc::import {

/// In place of each cache that `step` keeps what another of these functions sets
/// it to; its output goes, and its input, which has no uses any more, is added to
/// `unused`. Error where none sets it, or sets it to what a step does not know.
mlir::LogicalResult computeKeptCaches(mlir::func::FuncOp step,
                                      llvm::ArrayRef<mlir::func::FuncOp> all,
                                      llvm::SmallVectorImpl<unsigned> &unused);

/// A step has no such outputs, by number.
void dropOutputs(mlir::func::FuncOp function, const llvm::BitVector &outputs);

} // namespace shardc::import

#endif // SHARDC_PASSES_IMPORT_ROWS_KEPTCACHES_H
