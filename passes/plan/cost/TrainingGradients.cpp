//===- TrainingGradients.cpp - What backward sends, and what it needs -----===//

#include "passes/plan/cost/TrainingCost.h"

namespace shardc::plan {

using dist::Sharding;

//===--- Collectives ------------------------------------------------------===//

/// Of a value, as an op leaves its gradient: split like the operand, and a
/// partial sum where ranks use it for other parts of what they make.
Sharding TrainingCost::gradientOf(unsigned number, unsigned operand) const {
  Sharding gradient = operandSharding(graph, *plan, number, operand);
  gradient.partial.clear(); // each rank's summand has the sum's gradient
  llvm::SmallVector<dist::AxisRef, 2> own;
  for (const dist::DimSharding &dim : gradient.dims)
    llvm::append_range(own, dim.axes());
  for (const LeafSplit &split : plan->ops[number].splits)
    for (const dist::AxisRef &axis : split.axes)
      if (!llvm::is_contained(own, axis))
        gradient.partial.push_back({axis, dist::ReduceKind::Sum});
  llvm::sort(gradient.partial);
  gradient.partial.erase(llvm::unique(gradient.partial),
                         gradient.partial.end());
  return gradient;
}

/// A value that products had gathered is kept in parts: it is gathered once more
/// for the gradients of their weights.
double TrainingCost::gatheredAgain(unsigned value) {
  const Sharding made = producedSharding(graph, *plan, value);
  if (made.isPartial())
    return 0;
  for (unsigned user : graph.values[value].consumers) {
    const GraphOp &op = graph.ops[user];
    if (kernels.roles[user] != Role::Product || op.operandValues[0] != value)
      continue;
    const Sharding wanted = operandSharding(graph, *plan, user, 0);
    if (wanted != made)
      return run.reshard(made, wanted, graph.values[value], *sizes);
  }
  return 0;
}

void TrainingCost::sumGradients(unsigned value,
                                std::vector<OpTraining> &costs) {
  Sharding made = producedSharding(graph, *plan, value);
  made.partial.clear();
  // Those that are alike are added up first.
  llvm::SmallVector<Sharding, 2> done{made};
  double seconds = gatheredAgain(value), beside = 0;
  unsigned payer = kNoValue;
  for (unsigned user : graph.values[value].consumers) {
    if (Kernels::isLoadTime(user, graph))
      continue;
    const GraphOp &op = graph.ops[user];
    for (auto [i, operand] : llvm::enumerate(op.operandValues)) {
      const bool isInTurn = !plan->ops[user].inTurn.empty() && i > 0 && i < 3;
      if (operand != value || isInTurn)
        continue;
      payer = payer == kNoValue ? user : payer;
      beside += weightSeconds[user];
      Sharding gradient = gradientOf(user, i);
      if (llvm::is_contained(done, gradient))
        continue;
      seconds += run.reshard(gradient, made, graph.values[value], *sizes);
      done.push_back(std::move(gradient));
    }
  }
  if (payer == kNoValue || seconds <= 0)
    return;
  if (options.overlapsLayers) {
    // While both run the products are slower.
    double speed = 1;
    for (const Device &device : machine.devices)
      speed = std::min(speed, device.speedBeside);
    const double hidden = std::min(seconds, beside / speed);
    seconds -= hidden * speed;
  }
  costs[payer].backward.communication += seconds;
}

void TrainingCost::addGradientCollectives(std::vector<OpTraining> &costs) {
  for (unsigned value = 0; value < graph.values.size(); ++value)
    if (isActivation(value) && graph.values[value].producer != kNoValue)
      sumGradients(value, costs);
}

/// Keys and values travel again, and their gradients with them.
void TrainingCost::addTurns(std::vector<OpTraining> &costs) {
  for (unsigned op = 0; op < graph.ops.size(); ++op)
    if (!plan->ops[op].inTurn.empty()) {
      Seconds &seconds = costs[op].backward;
      seconds.communication +=
          std::max(0.0, 2 * run.passAround(*plan, op, *sizes) -
                            seconds.compute - seconds.read);
    }
}

//===--- What is kept -----------------------------------------------------===//

void TrainingCost::need(unsigned value, const Sharding &as,
                        std::vector<OpTraining> &costs) {
  value = kernels.storage[value];
  const unsigned producer = graph.values[value].producer;
  if (!isActivation(value) || producer == kNoValue || isKept[value])
    return;
  isKept[value] = true;
  const GraphOp &op = graph.ops[producer];
  // What was in registers is made anew, but a sum takes less than its operands.
  if (!kernels.isStored[value] && kernels.roles[producer] == Role::Rows &&
      op.partialRule != onnx::PartialRule::Additive) {
    for (auto [i, operand] : llvm::enumerate(op.operandValues))
      if (operand != kNoValue)
        need(operand, operandSharding(graph, *plan, producer, i), costs);
    return;
  }
  const Sharding made = producedSharding(graph, *plan, value);
  costs[producer].kept += bytesAs(made.isPartial() ? as : made, value);
}

void TrainingCost::keep(std::vector<OpTraining> &costs) {
  isKept.assign(graph.values.size(), false);
  for (unsigned number = 0; number < graph.ops.size(); ++number) {
    const GraphOp &op = graph.ops[number];
    const Role role = kernels.roles[number];
    if (role == Role::None || role == Role::Append)
      continue;
    const bool needsNone = role == Role::Rows && isSum(op);
    for (auto [i, operand] : llvm::enumerate(op.operandValues))
      if (!needsNone && operand != kNoValue)
        need(operand, operandSharding(graph, *plan, number, i), costs);
    if (options.hasDropout && isResidualSum(number))
      costs[number].kept +=
          sizes->largestPart(resultSharding(graph, *plan, number, 0));
    if (role != Role::Attention || !options.writesScores)
      continue;
    const AttentionSize size =
        attentionSizeOf(graph, kernels, *plan, number, *sizes);
    const double bytes = double(size.elementBits) / 8;
    // The softmax, and with dropout its mask and what is left.
    costs[number].keptScores +=
        size.scores() * (options.hasDropout ? 2 * bytes + 1 : bytes);
    costs[number].kept += costs[number].keptScores;
  }
}

} // namespace shardc::plan
