//===- PriceAlternatives.cpp - What other shardings of a node would cost --===//

#include "passes/shard/PriceAlternatives.h"

#include "passes/plan/Alternatives.h"
#include "passes/plan/cost/RunCost.h"

using Json = nlohmann::json;

namespace shardc::shard {

static Json describe(const dist::Sharding &sharding,
                     const plan::Seconds &seconds) {
  return {{"sharding", sharding.str()},
          {"seconds",
           {{"compute", seconds.compute},
            {"read", seconds.read},
            {"communication", seconds.communication},
            {"total", seconds.total()}}}};
}

plan::Seconds secondsOf(const plan::Graph &graph, const plan::Plan &plan,
                        const PriceContext &context) {
  const plan::Kernels kernels(graph);
  plan::Seconds sum;
  plan::RunCost cost(graph, kernels, context.machine, context.mesh);
  for (const plan::Seconds &ofOp : cost.run(plan, context.sizes))
    sum += ofOp;
  return sum;
}

Json priceAlternatives(
    const plan::Graph &graph, const plan::OpNames &names, llvm::StringRef node,
    const plan::Plan &chosen, const PriceContext &context,
    llvm::function_ref<plan::Plan(const plan::Plan &)> search) {
  auto price = [&](const plan::Plan &plan) {
    return secondsOf(graph, plan, context);
  };
  Json found = Json::array();
  for (unsigned op = 0; op < graph.ops.size(); ++op) {
    if (names.nodes[op] != node)
      continue;
    const std::optional<plan::Alternative> best =
        plan::bestAlternative(graph, op, chosen, context.stage, search, price);
    if (!best)
      continue;
    Json entry = describe(best->sharding, best->seconds);
    entry["op"] = names.operators[op];
    entry["instead"] =
        describe(plan::resultSharding(graph, chosen, op, 0), price(chosen));
    found.push_back(std::move(entry));
  }
  return found;
}

} // namespace shardc::shard
