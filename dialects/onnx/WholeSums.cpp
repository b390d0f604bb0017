//===- WholeSums.cpp - Ops whose sums no ranks share out ------------------===//

#include "dialects/onnx/WholeSums.h"

using namespace mlir;

namespace shardc::onnx {

/// Largest and smallest elements are the same in any order, a sum is not.
static bool isSum(const RuleFactor &factor) {
  return factor.factorClass == FactorClass::Lookup ||
         (factor.factorClass == FactorClass::Reduce &&
          factor.reduceKind == dist::ReduceKind::Sum);
}

bool mayShareSums(OnnxOp op) {
  if (llvm::none_of(op->getResultTypes(), [](Type type) {
        return isa<FloatType>(getElementTypeOrSelf(type));
      }))
    return false; // integers wrap around, in any order
  return llvm::any_of(op.shardingRule().factors, [](const RuleFactor &factor) {
    return isSum(factor) || factor.isInTurn;
  });
}

ShardingRule ruleOf(OnnxOp op) {
  ShardingRule rule = op.shardingRule();
  if (!hasWholeSums(op))
    return rule;
  for (RuleFactor &factor : rule.factors) {
    factor.isInTurn = false;
    if (isSum(factor))
      factor.factorClass = FactorClass::NeedsReplication;
  }
  return rule;
}

} // namespace shardc::onnx
