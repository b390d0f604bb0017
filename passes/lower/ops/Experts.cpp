//===- Experts.cpp - Lowering of mixtures of experts ----------------------===//

#include "passes/lower/Lowering.h"

using namespace mlir;

namespace shardc::lower {

static LogicalResult lowerMixtureOfExperts(Operation *op, Lowering &lowering) {
  SmallVector<ValueView, 6> inputs;
  for (Value operand : op->getOperands())
    inputs.push_back(lowering.view(operand));
  lowering.call(op, "MixtureOfExperts", inputs,
                {lowering.allocate(op, op->getResult(0))},
                Lowering::attributes(
                    op, {"activation", "gate", "alpha", "shift", "limit"}));
  return success();
}

void addExpertsLowerings(LoweringMap &map) {
  map["onnx.MixtureOfExperts"] = lowerMixtureOfExperts;
}

} // namespace shardc::lower
