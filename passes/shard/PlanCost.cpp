//===- PlanCost.cpp - How long a plan takes, roughly ----------------------===//

#include "passes/shard/PlanCost.h"

#include <cmath>

namespace shardc::shard {

using dist::Sharding;

namespace {

class CostModel {
public:
  CostModel(ShardingGraph &graph, const llvm::StringMap<int64_t> &sizes,
            const DeviceBalance &balance)
      : graph(graph), sizes(sizes), balance(balance) {}

  double run() {
    double total = 0;
    for (const GraphOp &op : graph.ops)
      total += cost(op);
    for (const GraphValue &value : graph.values)
      if (value.producer != kNoValue && !value.isLoadTime)
        total += cost(value);
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
    for (dist::DimExpr size : dist::getDims(value.value.getType()))
      elements *= evaluate(size);
    return elements;
  }

  /// Of a leaf, what the busiest of so many ranks has.
  double share(const LeafSplit &split) {
    const double size = std::max(1.0, evaluate(graph.space.size(split.leaf)));
    return std::ceil(size / dist::numWays(split.axes)) / size;
  }

  double cost(const GraphOp &op) {
    double work = evaluate(mlir::cast<onnx::OnnxOp>(op.op).multiplyAdds());
    double read = 0;
    for (const LeafSplit &split : op.splits)
      if (op.find(split.leaf))
        work *= share(split);
    for (unsigned operand : op.matrices) {
      if (!op.usesWeight)
        continue;
      double elements = elementsOf(graph.values[op.operandValues[operand]]);
      for (const LeafSplit &split : op.splits)
        if (graph.space.holds(op.operands[operand], split.leaf))
          elements *= share(split);
      read += elements;
    }
    return std::max(work, read * balance.perWeightElement);
  }

  Sharding produced(const GraphValue &value) {
    const GraphOp &producer = graph.ops[value.producer];
    unsigned result = 0;
    while (producer.op->getResult(result) != value.value)
      ++result;
    return graph.resultSharding(producer, result);
  }

  /// Each sharding that somebody wants is made once.
  double cost(const GraphValue &value) {
    const Sharding from = produced(value);
    llvm::SmallVector<Sharding, 2> made{from};
    double total = 0;
    for (unsigned consumer : value.consumers) {
      const GraphOp &op = graph.ops[consumer];
      for (unsigned i = 0; i < op.operandValues.size(); ++i) {
        if (op.operandValues[i] == kNoValue ||
            graph.values[op.operandValues[i]].value != value.value)
          continue;
        Sharding to = graph.operandSharding(op, i);
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

  ShardingGraph &graph;
  const llvm::StringMap<int64_t> &sizes;
  const DeviceBalance &balance;
};

} // namespace

double planCost(ShardingGraph &graph, const llvm::StringMap<int64_t> &sizes,
                const DeviceBalance &balance) {
  return CostModel(graph, sizes, balance).run();
}

} // namespace shardc::shard
