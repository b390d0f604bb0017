//===- Experts.cpp - Shape functions and sharding rules -------------------===//

#include "dialects/onnx/ops/Experts.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/onnx/ops/Experts.cpp.inc"

namespace shardc::onnx {

using dist::DimExpr;

void OnnxDialect::registerExpertsOps() {
  addOperations<
#define GET_OP_LIST
#include "dialects/onnx/ops/Experts.cpp.inc"
      >();
}

LogicalResult MixtureOfExpertsOp::inferTypes(ShapeInference &inference) {
  auto dims = [&](Value value) { return inference.dims(value); };
  SmallVector<DimExpr, 4> tokens = dims(getTokens()), up = dims(getUp()),
                          down = dims(getDown()), chosen = dims(getIndices());
  if (tokens.size() != 2 || up.size() != 3 || down.size() != 3 ||
      chosen.size() != 2)
    return emitOpError("has tokens of ")
           << tokens.size() << ", indices of " << chosen.size()
           << " and weights of " << up.size() << " and " << down.size()
           << " dims, expected 2, 2, 3 and 3";
  DimExpr hidden = down[1] * (getGate() == "none" ? 1 : 2);
  if (up[0] != down[0] || up[1] != tokens[1] || up[2] != hidden ||
      chosen != dims(getWeights()))
    return emitOpError("has operands whose sizes do not fit each other");
  if (failed(inference.assume(*this, GuardKind::Equal, chosen[0], tokens[0],
                              "MixtureOfExperts: choices for " +
                                  chosen[0].str() + " of " + tokens[0].str() +
                                  " tokens")))
    return failure();
  for (Value bias : getBias())
    if (dims(bias) != SmallVector<DimExpr, 4>{up[0], up[2]})
      return emitOpError("has a bias that does not fit its experts");
  SmallVector<DimExpr, 4> made = {dims(getTokens())[0], down[2]};
  if (getKeepsChoices())
    made.insert(made.begin() + 1, chosen[1]);
  inference.setType(getResult(), inference.element(getTokens()), made);
  return success();
}

/// Experts are split along what is hidden in them, or each as a whole between
/// ranks; the result is a partial sum.
ShardingRule MixtureOfExpertsOp::shardingRule() {
  auto dims = [](Value value) { return dist::getDims(value.getType()); };
  const FactorClass blocked = FactorClass::NeedsReplication;
  SmallVector<DimExpr, 4> tokens = dims(getTokens()), down = dims(getDown());
  ShardingRule rule;
  RuleDim n = rule.addDim(tokens[0]), d = rule.addDim(tokens[1], blocked);
  RuleDim k = rule.addDim(dims(getIndices())[1], blocked);
  RuleDim e = rule.addDim(down[0], FactorClass::Reduce);
  for (const auto &segment : e.segments) {
    rule.factors[segment.front()].isExperts = true;
    rule.factors[segment.front()].rankParts = RankParts::OneRange;
  }
  unsigned hidden = rule.addFactor(down[1], FactorClass::Reduce);
  RuleDim f = RuleDim::factor(hidden), h = f;
  if (getGate() == "halves")
    h.segments = {{hidden}, {hidden}};
  else if (getGate() == "interleaved")
    h.segments = {{hidden, rule.addFactor(2, blocked)}};
  RuleDim out = rule.addDim(down[2]);
  rule.operands = {{n, d}, {n, k}, {n, k}, {e, d, h}, {e, f, out}};
  for (size_t i = 0; i < getBias().size(); ++i)
    rule.operands.push_back({e, h});
  rule.results = {getKeepsChoices() ? RuleTensor{n, k, out}
                                    : RuleTensor{n, out}};
  return rule;
}

DimExpr MixtureOfExpertsOp::multiplyAdds() {
  SmallVector<DimExpr, 4> up = dist::getDims(getUp().getType()),
                          down = dist::getDims(getDown().getType());
  return product(dist::getDims(getIndices().getType())) *
         (up[1] * up[2] + down[1] * down[2]);
}

} // namespace shardc::onnx
