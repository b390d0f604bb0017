//===- HeldValues.h - A value that is held in several ways ----------------===//
//
// Collectives change where a value is and never what it is, so whatever they
// make of it is the same value, held differently. What is held already in the
// way that is wanted need not be made:
//
//   %0 = onnx.Cast %x            [{"tp"=2}]
//   %1 = dist.all_gather %0      [{}]
//   %2 = dist.slice %1           [{"tp"=2}]      is %0
//
// Such ways there and back are no mistake: one op wants the value whole, the
// next one its parts, and something between them has moved away.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_PARTITION_HELDVALUES_H
#define SHARDC_PASSES_PARTITION_HELDVALUES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace shardc::partition {

/// Uses what is held already, throughout a program, and erases collectives that
/// nobody uses then. Returns how many it erased. Types may be local or not.
unsigned reuseHeldValues(mlir::func::FuncOp program);

} // namespace shardc::partition

#endif // SHARDC_PASSES_PARTITION_HELDVALUES_H
