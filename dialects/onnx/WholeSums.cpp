//===- WholeSums.cpp - Ops whose sums no ranks share out ------------------===//

#include "dialects/onnx/WholeSums.h"

#include "dialects/onnx/ops/Experts.h"

using namespace mlir;

namespace shardc::onnx {

/// Largest and smallest elements are the same in any order, a sum is not; but of
/// choices that stay apart one expert has each, and all others add zeros.
static bool isSum(const RuleFactor &factor, OnnxOp op) {
  auto experts = dyn_cast<MixtureOfExpertsOp>(op.getOperation());
  if (factor.isExperts && experts && experts.getKeepsChoices())
    return false;
  return factor.factorClass == FactorClass::Lookup ||
         (factor.factorClass == FactorClass::Reduce &&
          factor.reduceKind == dist::ReduceKind::Sum);
}

bool mayShareSums(OnnxOp op) {
  if (llvm::none_of(op->getResultTypes(), [](Type type) {
        return isa<FloatType>(getElementTypeOrSelf(type));
      }))
    return false; // integers wrap around, in any order
  return llvm::any_of(op.shardingRule().factors, [&](const RuleFactor &factor) {
    return isSum(factor, op) || factor.isInTurn;
  });
}

ShardingRule ruleOf(OnnxOp op) {
  ShardingRule rule = op.shardingRule();
  if (!hasWholeSums(op))
    return rule;
  for (RuleFactor &factor : rule.factors) {
    factor.isInTurn = false;
    if (isSum(factor, op))
      factor.factorClass = FactorClass::NeedsReplication;
  }
  return rule;
}

PartialRule partialRuleOf(OnnxOp op) {
  const PartialRule rule = op.partialRule();
  const bool isOfFloats = llvm::any_of(op->getResultTypes(), [](Type type) {
    return isa<FloatType>(getElementTypeOrSelf(type));
  });
  if (!isOfFloats || !isSummedInOrder(op))
    return rule;
  switch (rule) {
  case PartialRule::Linear:
  case PartialRule::Additive:
  case PartialRule::Multilinear:
  case PartialRule::Affine:
    return PartialRule::None;
  default:
    return rule;
  }
}

} // namespace shardc::onnx
