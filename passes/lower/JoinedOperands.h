//===- JoinedOperands.h - Parameters of products that become one ----------===//
//
// Products of one operand have, beside their weights, scales, zero points and
// biases of their own: one for each column, or some for each of them. Those of
// a merged product lie side by side in a buffer that is filled once, when the
// weights are loaded:
//
//   scales of q [4, 64] and k [4, 32], strides [1, 4] each
//   ->  rt.alloc of [96, 4], a copy of each into its rows
//   ->  [4, 96], strides [1, 4]
//
// What is the same for all columns of all of them stays as it is.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_LOWER_JOINEDOPERANDS_H
#define SHARDC_PASSES_LOWER_JOINEDOPERANDS_H

#include "dialects/rt/Rt.h"

#include "mlir/IR/Builders.h"

namespace shardc::lower {

/// Whether operands of products can be one: views of what is known when weights
/// are loaded, or of what is the same, or all absent.
bool canJoin(llvm::ArrayRef<mlir::Value> operands);

/// The operand of a product that has the columns of all of them, which can be
/// one.
mlir::Value joinOperands(llvm::ArrayRef<mlir::Value> operands,
                         rt::ReadyOp ready, mlir::OpBuilder &builder);

} // namespace shardc::lower

#endif // SHARDC_PASSES_LOWER_JOINEDOPERANDS_H
