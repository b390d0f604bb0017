//===- Refinement.h - A lowered program does what was partitioned ---------===//
//
// Two programs are walked from their outputs back, element by element: what an
// instruction reads, and what the op reads that it is there for.
//
//   partitioned                       lowered
//   %1 = onnx.MatMul %0, %w           rt.call "MatMul"(%a, %b) into(%c)
//   return %1                         rt.output 0 "y" %d
//
//   element [2, 5] of the output: of %1, number [2, 5], and what "MatMul" made,
//   number [2, 5]. Hence the call is the op's: its kernel and configuration
//   must be, and some elements of %a and %b those of %0 and %w. And so on.
//
// Elements are few of each operand: the first, the last, some between, and
// those where one part that was written ends and another begins. What is looked
// at is a point (Point.h), so a breach is an error, but its absence is no proof
// for all sizes. The bodies of generated kernels are evaluated beside the ops that
// they were found to do (KernelBodies.h). Not followed are loops whose trips the
// data decide.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_VERIFY_LOWERED_REFINEMENT_H
#define SHARDC_PASSES_VERIFY_LOWERED_REFINEMENT_H

#include "dialects/rt/Rt.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace shardc::verify {

/// Emits an error where the program does not do what the function says.
llvm::LogicalResult verifyRefinement(rt::ProgramOp program,
                                     mlir::func::FuncOp function,
                                     const dist::Mesh &mesh);

} // namespace shardc::verify

#endif // SHARDC_PASSES_VERIFY_LOWERED_REFINEMENT_H
