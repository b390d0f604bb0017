//===- VerifyRings.cpp - Who may use parts that come in turn --------------===//

#include "passes/verify/VerifyRings.h"

#include "dialects/onnx/Onnx.h"
#include "dialects/onnx/WholeSums.h"

using namespace mlir;

namespace shardc::verify {

/// The factor of that dim, if the op takes it in turn.
static std::optional<unsigned> factorInTurn(const onnx::ShardingRule &rule,
                                            unsigned operand, uint64_t dim) {
  if (operand >= rule.operands.size() || dim >= rule.operands[operand].size())
    return std::nullopt;
  const onnx::RuleDim &pattern = rule.operands[operand][dim];
  if (pattern.segments.size() != 1 || pattern.segments.front().size() != 1)
    return std::nullopt;
  unsigned factor = pattern.segments.front().front();
  return rule.factors[factor].isInTurn ? std::optional(factor) : std::nullopt;
}

static bool comesInTheSameParts(dist::RingOp a, dist::RingOp b) {
  auto split = [](dist::RingOp ring) {
    return dist::getSharding(ring.getOperand().getType()).dims[ring.getDim()];
  };
  return a.getAxes() == b.getAxes() && a.getSteps() == b.getSteps() &&
         split(a) == split(b);
}

LogicalResult verifyRing(dist::RingOp ring) {
  for (OpOperand &use : ring->getUses()) {
    Operation *user = use.getOwner();
    auto op = dyn_cast<onnx::OnnxOp>(user);
    onnx::ShardingRule rule = op ? onnx::ruleOf(op) : onnx::ShardingRule();
    std::optional<unsigned> factor =
        factorInTurn(rule, use.getOperandNumber(), ring.getDim());
    if (!factor) {
      InFlightDiagnostic error = ring.emitError("gives the parts of dim ")
                                 << ring.getDim() << " one after the other";
      error.attachNote(user->getLoc()) << "to an op that needs all of it";
      return error;
    }
    for (OpOperand &other : user->getOpOperands()) {
      auto beside = other.get().getDefiningOp<dist::RingOp>();
      if (!beside || comesInTheSameParts(ring, beside) ||
          factorInTurn(rule, other.getOperandNumber(), beside.getDim()) !=
              factor)
        continue;
      InFlightDiagnostic error = ring.emitError(
          "does not give the same parts in the same order as another ring");
      error.attachNote(beside.getLoc()) << "whose result the same op uses";
      return error;
    }
  }
  return success();
}

} // namespace shardc::verify
