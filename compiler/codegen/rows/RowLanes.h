//===- RowLanes.h - Reductions over the columns of a row ------------------===//
//
// Columns are dealt to `lanes` lanes, whatever the processor's vectors hold: a
// target of narrower ones has several vectors ("parts") for them. So sums have
// the same order, and the same bits, for every target:
//
//   unroll 4, lanes 16     64 partial sums, added as ((0 + 2) + (1 + 3)) to 16,
//                          then 8 to 8, 4 to 4, 2 to 2, 1 to 1
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_COMPILER_CODEGEN_ROWS_ROWLANES_H
#define SHARDC_COMPILER_CODEGEN_ROWS_ROWLANES_H

#include "compiler/codegen/rows/RowEmitter.h"

#include "mlir/IR/Builders.h"

namespace shardc::codegen {

class RowLanes {
public:
  using Values = llvm::SmallVector<mlir::Value, 8>;

  RowLanes(mlir::OpBuilder &b, mlir::Location loc, const RowTarget &target)
      : b(b), loc(loc), target(target) {}

  int64_t parts() const { return target.lanes / target.width; }
  /// A vector that changes nothing.
  mlir::Value identity(rt::ReduceOp reduce);
  mlir::Value combine(rt::ReduceOp reduce, mlir::Value x, mlir::Value y);
  /// One reduction's vectors [u * parts() + p] become those of u = 0.
  Values addUp(rt::ReduceOp reduce, Values vectors);
  /// The parts become one scalar.
  mlir::Value across(rt::ReduceOp reduce, Values parts);

private:
  mlir::OpBuilder &b;
  mlir::Location loc;
  const RowTarget &target;
};

} // namespace shardc::codegen

#endif // SHARDC_COMPILER_CODEGEN_ROWS_ROWLANES_H
