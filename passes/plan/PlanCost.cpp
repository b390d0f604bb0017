//===- PlanCost.cpp - How long a plan takes, roughly ----------------------===//

#include "passes/plan/PlanCost.h"

#include <cmath>

namespace shardc::plan {

using dist::Sharding;

namespace {

class CostModel {
public:
  CostModel(const Graph &graph, const Plan &plan,
            const llvm::StringMap<int64_t> &sizes, const DeviceBalance &balance)
      : graph(graph), plan(plan), sizes(sizes), balance(balance) {}

  double run() {
    double total = 0;
    for (unsigned op = 0; op < graph.ops.size(); ++op)
      total += costOfOp(op);
    for (unsigned value = 0; value < graph.values.size(); ++value)
      if (graph.values[value].producer != kNoValue &&
          !graph.values[value].isLoadTime)
        total += costOfValue(value);
    return total;
  }

private:
  double evaluate(dist::DimExpr size) const {
    auto value = size.evaluate(
        [&](llvm::StringRef name, bool) -> std::optional<int64_t> {
          auto it = sizes.find(name);
          return it != sizes.end() ? it->second
                                   : static_cast<int64_t>(graph.evaluate(
                                         dist::DimExpr::symbol(name)));
        });
    return value ? static_cast<double>(*value) : 1;
  }

  double elementsOf(const GraphValue &value) const {
    double elements = 1;
    for (dist::DimExpr size : value.sizes)
      elements *= evaluate(size);
    return elements;
  }

  /// Of a leaf, what the busiest of so many ranks has.
  double share(const LeafSplit &split) {
    const double size = std::max(1.0, evaluate(graph.space.size(split.leaf)));
    return std::ceil(size / dist::numWays(split.axes)) / size;
  }

  double costOfOp(unsigned number) {
    const GraphOp &op = graph.ops[number];
    const auto &splits = plan.ops[number].splits;
    double work = evaluate(op.work);
    double read = 0;
    for (const LeafSplit &split : splits)
      if (op.find(split.leaf))
        work *= share(split);
    for (unsigned operand : op.matrices) {
      if (!op.usesWeight)
        continue;
      double elements = elementsOf(graph.values[op.operandValues[operand]]);
      for (const LeafSplit &split : splits)
        if (graph.space.holds(op.operands[operand], split.leaf))
          elements *= share(split);
      read += elements;
    }
    return std::max(work, read * balance.perWeightElement);
  }

  /// Each sharding that somebody wants is made once.
  double costOfValue(unsigned number) {
    const GraphValue &value = graph.values[number];
    const Sharding from = producedSharding(graph, plan, number);
    llvm::SmallVector<Sharding, 2> made{from};
    double total = 0;
    for (unsigned consumer : value.consumers) {
      const GraphOp &op = graph.ops[consumer];
      for (unsigned i = 0; i < op.operandValues.size(); ++i) {
        if (op.operandValues[i] != number)
          continue;
        Sharding to = operandSharding(graph, plan, consumer, i);
        if (llvm::is_contained(made, to))
          continue;
        total += collective(from, to, elementsOf(value));
        made.push_back(std::move(to));
      }
    }
    return total;
  }

  static double waysOf(const Sharding &sharding) {
    double ways = 1;
    for (const dist::DimSharding &dim : sharding.dims)
      ways *= dist::numWays(dim.axes());
    return ways;
  }

  /// An all_reduce is a reduce_scatter and an all_gather; a slice is free.
  double collective(const Sharding &from, const Sharding &to,
                    double elements) const {
    const double held = elements / waysOf(from), wanted = elements / waysOf(to);
    double sent = 0;
    if (from.isPartial() && !to.isPartial())
      sent = wanted < held ? held : 2 * held;
    else if (wanted > held)
      sent = wanted - held;
    else if (wanted == held)
      sent = held; // split otherwise: an all_to_all
    return sent > 0 ? balance.perCollective + sent * balance.perSentElement : 0;
  }

  const Graph &graph;
  const Plan &plan;
  const llvm::StringMap<int64_t> &sizes;
  const DeviceBalance &balance;
};

} // namespace

double planCost(const Graph &graph, const Plan &plan,
                const llvm::StringMap<int64_t> &sizes,
                const DeviceBalance &balance) {
  return CostModel(graph, plan, sizes, balance).run();
}

} // namespace shardc::plan
