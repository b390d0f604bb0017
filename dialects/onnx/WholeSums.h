//===- WholeSums.h - Ops whose sums no ranks share out --------------------===//
//
// Floats that are added up in another order are other floats. So that an op gives
// the same bits however its operands are split, each of its sums is computed by
// one rank, in the order of one kernel; ranks exchange elements, not summands:
//
//   MatMul       b m k, b k n -> b m n     k: reduce(sum)
//   with mark    b m k, b k n -> b m n     k: needs replication; n may be split
//
// The mark is an attribute of the op, and what the op's rule says without it is
// all that there is to know: who plans and who proves ask the same function.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_DIALECTS_ONNX_WHOLESUMS_H
#define SHARDC_DIALECTS_ONNX_WHOLESUMS_H

#include "dialects/onnx/Onnx.h"

namespace shardc::onnx {

/// A unit attribute, of an op whose rule it changes and of the module whose
/// kernels all add up in one order. Whoever marks an op does so before its terms
/// are recorded.
inline constexpr llvm::StringLiteral kWholeSumsAttr = "onnx.whole_sums";

/// Of what is in a module, or of that itself.
inline bool isSummedInOrder(mlir::Operation *op) {
  auto module = llvm::dyn_cast<mlir::ModuleOp>(op);
  return (module ? module : op->getParentOfType<mlir::ModuleOp>())
      ->hasAttr(kWholeSumsAttr);
}

inline bool hasWholeSums(mlir::Operation *op) {
  return op->hasAttr(kWholeSumsAttr);
}

/// Whether ranks that split the op would add up floats, or see parts of them in
/// another order.
bool mayShareSums(OnnxOp op);

/// The op's own rule; of a marked one all that it adds up is whole.
ShardingRule ruleOf(OnnxOp op);

/// The op's own; where sums are in order what parts of floats are there only move:
/// to add them up later would be another order.
PartialRule partialRuleOf(OnnxOp op);

} // namespace shardc::onnx

#endif // SHARDC_DIALECTS_ONNX_WHOLESUMS_H
