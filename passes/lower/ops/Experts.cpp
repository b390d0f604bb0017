//===- Experts.cpp - Lowering of mixtures of experts ----------------------===//

#include "dialects/onnx/ops/Experts.h"

#include "passes/lower/ops/Quantization.h"

using namespace mlir;

namespace shardc::onnx {

using namespace lower;

namespace {
/// Inputs of the kernel behind those of the op.
enum Input { kBias = 5, kUpScale = 6, kDownScale = 8, kInputs = 10 };
} // namespace

/// Replaces the numbers of quantised weights by what they are made of.
static LogicalResult fuse(OpOperand &weights, unsigned scale, StringRef prefix,
                          MutableArrayRef<ValueView> inputs,
                          Lowering::Config &config, Lowering &lowering) {
  FusedWeights found = findFusedWeights(weights);
  if (!found.dequantization)
    return success();
  FailureOr<FusedViews> fused = fusedViews(found, lowering);
  if (failed(fused))
    return failure();
  inputs[weights.getOperandNumber()] = fused->views.front();
  llvm::copy(ArrayRef(fused->views).drop_front(), inputs.begin() + scale);
  if (!fused->blocks.empty())
    fused->blocks.push_back(lowering.ints("axis", 1));
  for (NamedAttribute attribute : fused->blocks)
    config.emplace_back((prefix + attribute.getName().getValue()).str(),
                        attribute.getValue());
  return success();
}

LogicalResult MixtureOfExpertsOp::lower(Lowering &lowering) {
  Operation *op = getOperation();
  SmallVector<ValueView, kInputs> inputs;
  for (Value operand : op->getOperands())
    inputs.push_back(lowering.view(operand));
  inputs.resize(kInputs);
  Lowering::Config config =
      lowering.order(op, {"activation", "gate", "alpha", "shift", "limit"});
  if (getKeepsChoices())
    config.push_back(lowering.ints("keeps_choices", 1));
  // Indices count all experts; a rank has a range of them.
  Type down = getDown().getType();
  config.push_back(lowering.scalars(
      "experts", {dist::getDims(down)[0],
                  dist::getSharding(down).dims[0].lowerBound(lowering.mesh)}));
  if (failed(fuse(getUpMutable(), kUpScale, "up_", inputs, config, lowering)) ||
      failed(fuse(getDownMutable(), kDownScale, "down_", inputs, config,
                  lowering)))
    return failure();
  while (inputs.back().isAbsent())
    inputs.pop_back();
  lowering.call(
      op, getOperandBits() ? "MixtureOfExpertsBFloat16" : "MixtureOfExperts",
      inputs, {lowering.allocate(op, op->getResult(0))}, config);
  return success();
}

} // namespace shardc::onnx
