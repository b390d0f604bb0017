//===- Alternatives.cpp - What an op could be split like instead ----------===//

#include "passes/plan/Alternatives.h"

#include "passes/plan/Pins.h"

namespace shardc::plan {

/// Whether an op has the same part of each operand and result under both.
static bool areAlike(const Graph &graph, unsigned number, const Plan &lhs,
                     const Plan &rhs) {
  const GraphOp &op = graph.ops[number];
  for (unsigned i = 0; i < op.operands.size(); ++i)
    if (!op.operands[i].empty() && operandSharding(graph, lhs, number, i) !=
                                       operandSharding(graph, rhs, number, i))
      return false;
  for (unsigned i = 0; i < op.results.size(); ++i)
    if (resultSharding(graph, lhs, number, i) !=
        resultSharding(graph, rhs, number, i))
      return false;
  return true;
}

/// Plans in which nothing is decided but for the op.
static std::vector<Plan> startsFor(const Graph &graph, unsigned number,
                                   const dist::Mesh &mesh) {
  std::vector<Plan> starts(1, Plan(graph));
  pinWhole(graph, number, starts.front());
  for (const OpLeaf &leaf : graph.ops[number].leaves) {
    if (leaf.factorClass == onnx::FactorClass::NeedsReplication)
      continue;
    for (const dist::AxisRef &axis : dist::wholeMesh(mesh)) {
      if (axis.size == 1)
        continue;
      starts.emplace_back(graph);
      pinLeaf(graph, leaf.leaf, {axis}, starts.back());
    }
  }
  return starts;
}

std::optional<Alternative>
bestAlternative(const Graph &graph, unsigned op, const Plan &chosen,
                const dist::Mesh &mesh,
                llvm::function_ref<Plan(const Plan &start)> search,
                llvm::function_ref<Seconds(const Plan &)> price) {
  std::optional<Alternative> best;
  if (graph.ops[op].results.empty())
    return best;
  for (const Plan &start : startsFor(graph, op, mesh)) {
    const Plan plan = search(start);
    if (areAlike(graph, op, plan, chosen))
      continue;
    const Seconds seconds = price(plan);
    if (!best || seconds.total() < best->seconds.total())
      best = Alternative{resultSharding(graph, plan, op, 0), seconds};
  }
  return best;
}

} // namespace shardc::plan
