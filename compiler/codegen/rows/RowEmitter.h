//===- RowEmitter.h - Loops over rows and columns -------------------------===//
//
// Turns an rt.kernel into a function of plain pointers and sizes:
//
//   void f(void *const *operands,  inputs, then outputs
//          const int64_t *sizes,   columns, then each operand's elements from
//          row
//                                  to row
//          int64_t firstRow, int64_t endRow,
//          float *scratch)         one row of slots, see below
//
// (GeneratedFunction of the runtime). Columns are taken in vectors; what is
// left over goes through the same vector code under a mask. No operation may be
// reordered, contracted or approximated behind this file, and sums run in lanes
// of a fixed order: so a row has the same bits wherever, beside whatever and by
// whichever processor it is computed.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_COMPILER_CODEGEN_ROWS_ROWEMITTER_H
#define SHARDC_COMPILER_CODEGEN_ROWS_ROWEMITTER_H

#include "dialects/rt/Rt.h"

#include "mlir/IR/BuiltinOps.h"

namespace shardc::codegen {

struct RowTarget {
  int64_t width = 16; ///< columns of a vector, a divisor of lanes
  int64_t lanes = 16; ///< of a sum; alike for all targets (RowLanes.h)
  int64_t unroll = 4; ///< vectors that a sum adds up side by side
};

/// The dialects of what emitRows makes.
void registerRowDialects(mlir::DialectRegistry &registry);

/// Adds the kernel's function to `module`, as llvm.func with scf, vector, arith
/// and math ops.
void emitRows(rt::KernelOp kernel, const RowTarget &target,
              mlir::ModuleOp module);

/// Writes exp, erf and tanh of f32 out in arithmetic: within 3 ulp, with
/// infinities, NaN and subnormal results; erfc to 6e-8.
void expandMath(mlir::ModuleOp module);

} // namespace shardc::codegen

#endif // SHARDC_COMPILER_CODEGEN_ROWS_ROWEMITTER_H
