//===- Movement.h - Instructions earlier or later in a program ------------===//
//
// An instruction may be done earlier or later as long as those that it passes
// do not write what it reads, nor touch what it writes:
//
//   %a = rt.alloc ...                    A collective that comes to stand
//   rt.call "MatMul"(...) into(%p)       before the call brings its %x along.
//   rt.call "Relu"(%b) into(%a)
//   %x = rt.alloc ...
//   rt.collective "all_reduce" %p into %x
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_LOWER_OVERLAP_MOVEMENT_H
#define SHARDC_PASSES_LOWER_OVERLAP_MOVEMENT_H

#include "dialects/rt/Rt.h"

namespace shardc::lower {

/// The buffer of a view; null for an absent operand.
mlir::Value bufferOf(mlir::Value view);

/// Buffers that an instruction reads and writes.
struct Accesses {
  llvm::SmallVector<mlir::Value, 4> reads, writes;
};
Accesses accessesOf(mlir::Operation *op);

/// Whether an instruction communicates.
bool communicates(mlir::Operation *op);
/// Whether all before it comes before it, and all behind it behind it:
/// brackets, and where sizes are read, set or checked.
bool isBarrier(mlir::Operation *op);

/// The earliest op behind which `op`, a call or a collective, may be done; none
/// before `limit`. Collectives and transfers keep their order.
mlir::Operation *earliestPlace(mlir::Operation *op,
                               mlir::Operation *limit = nullptr);
/// Moves it, with what it writes where that is made between the two.
void moveBehind(mlir::Operation *op, mlir::Operation *to);

/// Buffers that `op` uses are freed behind it, not before.
void delayFrees(mlir::Operation *op);

} // namespace shardc::lower

#endif // SHARDC_PASSES_LOWER_OVERLAP_MOVEMENT_H
