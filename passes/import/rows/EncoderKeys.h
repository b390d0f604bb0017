//===- EncoderKeys.h - Keys of cross-attention, in pages of a cache -------===//
//
// Keys that a sequence has from its encoder are the same in each of its steps.
// They are made where the encoder's output comes with a step, in general the first
// of a sequence, and stay in pages of their own of the pools that the layer's
// self-attention has:
//
//   present = Concat past, k           pool'  = PageWrite pool, MatMul(hidden, w)
//   keys = MatMul hidden, w            pool'' = PageWrite pool', k
//   Attention q, present, ..           PagedAttention q, pool'', pages, past
//   Attention q, keys, ..              PagedAttention q, pool'', encoder pages,
//                                          encoder length - new positions
//
// So one manager of pages has both, and a page is of either. A mask of them is
// given with each step.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_IMPORT_ROWS_ENCODERKEYS_H
#define SHARDC_PASSES_IMPORT_ROWS_ENCODERKEYS_H

#include "passes/import/rows/RowSizes.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace shardc::import {

struct EncoderKeys {
  /// Of the attention ops of a function with caches that grow; none where there
  /// is no cross-attention. Error at one whose keys cannot stay in pages.
  static mlir::FailureOr<EncoderKeys> of(mlir::func::FuncOp function,
                                         const RowSizes &sizes);

  bool isSource(mlir::BlockArgument argument) const {
    return sources.contains(argument);
  }
  bool isTheirs(mlir::Operation *op) const { return ops.contains(op); }

  dist::DimExpr length; ///< a symbol; else there is no cross-attention
  llvm::DenseMap<mlir::Value, mlir::Value> poolOf; ///< past, by keys or values
  llvm::DenseMap<mlir::Value, mlir::Value> inPool; ///< and the other way around
  llvm::DenseSet<mlir::Value> sources;   ///< inputs that they are made of
  llvm::DenseSet<mlir::Operation *> ops; ///< and how
};

} // namespace shardc::import

#endif // SHARDC_PASSES_IMPORT_ROWS_ENCODERKEYS_H
