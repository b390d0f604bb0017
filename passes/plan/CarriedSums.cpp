//===- CarriedSums.cpp - Sums that are added before the collective --------===//

#include "passes/plan/CarriedSums.h"

namespace shardc::plan {

using dist::PartialAxis;
using onnx::PartialRule;

namespace {

class SumCarrier {
public:
  SumCarrier(const Graph &graph, Plan &plan, bool isResidualSplit)
      : graph(graph), plan(plan), isResidualSplit(isResidualSplit) {}

  /// In order, so that what an op makes of its operands follows from what is
  /// known of those, and what was carried is a sum for the additions behind it.
  void run() {
    sums.resize(graph.ops.size());
    for (unsigned number = 0; number < graph.ops.size(); ++number) {
      const GraphOp &op = graph.ops[number];
      if (op.partialRule == PartialRule::Additive)
        sums[number] = addSums(op);
      else if (passesOn(op))
        sums[number] = findSum(op.operandValues[0]);
      const std::optional<Sum> &sum = sums[number];
      if (!sum || plan.ops[number].isDecided(sum->axes))
        sums[number].reset();
      else if (op.partialRule == PartialRule::Additive && sum->numUsedOnce > 1)
        carry(number, sum->axes);
    }
  }

private:
  /// A value that is a sum of parts, or would be if the ops that add and pass
  /// on carried one.
  struct Sum {
    AxisList axes;
    unsigned numUsedOnce = 0; ///< sums in it that nobody else needs whole
  };

  /// The axes over which the ranks hold summands of a value as it is.
  AxisList axesOf(unsigned number) {
    const GraphValue &value = graph.values[number];
    AxisList axes;
    if (value.producer == kNoValue)
      return axes;
    const OpPlan &op = plan.ops[value.producer];
    if (op.splits.empty() && op.carried.empty())
      return axes;
    for (const PartialAxis &partial :
         producedSharding(graph, plan, number).partial) {
      if (partial.kind != dist::ReduceKind::Sum)
        return {};
      axes.push_back(partial.axis);
    }
    return axes;
  }

  bool hasOneUse(unsigned number) const {
    const GraphValue &value = graph.values[number];
    return !value.isReturned && value.consumers.size() == 1;
  }

  std::optional<Sum> findSum(unsigned number) {
    if (number == kNoValue || graph.values[number].producer == kNoValue)
      return std::nullopt;
    // Parts that wait while the residual is split take the memory it saves.
    const bool isUsedOnce = hasOneUse(number);
    if (AxisList axes = axesOf(number); !axes.empty())
      return isUsedOnce || !isResidualSplit
                 ? std::optional(Sum{axes, isUsedOnce})
                 : std::nullopt;
    const unsigned producer = graph.values[number].producer;
    return isUsedOnce && graph.ops[producer].resultValues.size() == 1
               ? sums[producer]
               : std::nullopt;
  }

  /// Whether what it makes of parts are parts, and no more bytes of them.
  bool passesOn(const GraphOp &op) const {
    return (op.partialRule == PartialRule::Moves ||
            op.partialRule == PartialRule::Linear) &&
           op.resultValues.size() == 1 && op.operandValues[0] != kNoValue &&
           graph.values[op.resultValues[0]].elements <=
               graph.values[op.operandValues[0]].elements;
  }

  /// Of the operands of an addition, those that are sums, if the others may be
  /// added once.
  std::optional<Sum> addSums(const GraphOp &op) {
    std::optional<Sum> all;
    llvm::SmallVector<unsigned, 2> others;
    for (unsigned value : op.operandValues) {
      std::optional<Sum> sum = findSum(value);
      if (!sum) {
        others.push_back(value);
        continue;
      }
      if (all && all->axes != sum->axes)
        return std::nullopt;
      if (!all)
        all = Sum{sum->axes};
      all->numUsedOnce += sum->numUsedOnce;
    }
    if (all && !llvm::all_of(others, [&](unsigned value) {
          return mayBeAddedOnce(value, all->axes);
        }))
      return std::nullopt;
    return all;
  }

  /// One rank of a group adds the value. Of what is known when weights are
  /// loaded the others have zeros from then on; anything else is copied.
  bool mayBeAddedOnce(unsigned number, llvm::ArrayRef<dist::AxisRef> axes) {
    if (number == kNoValue)
      return false;
    const GraphValue &value = graph.values[number];
    if (value.isLoadTime)
      return true;
    return !isResidualSplit &&
           (value.producer == kNoValue || !plan.ops[value.producer].uses(axes));
  }

  /// Carries the sum through that addition, and through what is before it up
  /// to the ops that make parts.
  void carry(unsigned number, AxisList axes) {
    llvm::SmallVector<unsigned> open{number};
    while (!open.empty()) {
      const unsigned carrier = open.pop_back_val();
      const GraphOp &op = graph.ops[carrier];
      const size_t numAdded =
          op.partialRule == PartialRule::Additive ? op.operandValues.size() : 1;
      for (unsigned value :
           llvm::ArrayRef(op.operandValues).take_front(numAdded))
        if (value != kNoValue && axesOf(value).empty() && findSum(value))
          open.push_back(graph.values[value].producer);
      if (!plan.ops[carrier].isDecided(axes))
        plan.ops[carrier].carried.append(axes);
    }
  }

  const Graph &graph;
  Plan &plan;
  const bool isResidualSplit;
  std::vector<std::optional<Sum>> sums; ///< by op, what it would make
};

} // namespace

void carrySums(const Graph &graph, Plan &plan, bool isResidualSplit) {
  SumCarrier(graph, plan, isResidualSplit).run();
}

} // namespace shardc::plan
