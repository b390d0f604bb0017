//===- Experts.cpp - Lowering of mixtures of experts ----------------------===//

#include "passes/lower/Lowering.h"

using namespace mlir;

namespace shardc::lower {

static LogicalResult lowerMixtureOfExperts(Operation *op, Lowering &lowering) {
  constexpr unsigned kDown = 4;
  SmallVector<ValueView, 6> inputs;
  for (Value operand : op->getOperands())
    inputs.push_back(lowering.view(operand));
  Lowering::Config config = Lowering::attributes(
      op, {"activation", "gate", "alpha", "shift", "limit"});
  // Indices count all experts; a rank has a range of them.
  Type down = op->getOperand(kDown).getType();
  dist::DimSharding experts = dist::getSharding(down).dims[0];
  config.push_back(lowering.scalars(
      "experts", {dist::getDims(down)[0], experts.lowerBound(lowering.mesh)}));
  lowering.call(op, "MixtureOfExperts", inputs,
                {lowering.allocate(op, op->getResult(0))}, config);
  return success();
}

void addExpertsLowerings(LoweringMap &map) {
  map["onnx.MixtureOfExperts"] = lowerMixtureOfExperts;
}

} // namespace shardc::lower
