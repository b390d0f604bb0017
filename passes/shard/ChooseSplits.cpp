//===- ChooseSplits.cpp - Splits of weights that a predicted time decides -===//

#include "passes/shard/ChooseSplits.h"

#include "dialects/onnx/FunctionInfo.h"
#include "dialects/onnx/Profiles.h"
#include "dialects/onnx/ops/Source.h"
#include "passes/plan/SplitSearch.h"
#include "passes/plan/cost/RunCost.h"
#include "passes/plan/cost/RunMemory.h"

#include "llvm/Support/Format.h"

using namespace mlir;

namespace shardc::shard {

/// Plans that are tried; fewer of graphs in which no layers are alike, so that what
/// the search takes is linear in a model's size.
static unsigned budgetFor(const plan::Graph &graph) {
  constexpr size_t kPlans = 400, kOps = 200'000;
  return std::min(kPlans, kOps / std::max<size_t>(1, graph.ops.size()));
}

static llvm::SmallVector<plan::FactorNode, 4> leavesOf(const plan::Graph &graph,
                                                       plan::FactorNode dim) {
  llvm::SmallVector<plan::FactorNode, 4> leaves;
  graph.space.forEachLeaf(
      dim, [&](plan::FactorNode leaf, bool) { leaves.push_back(leaf); });
  return leaves;
}

/// Calls visit(name, dims) for each weight of a graph.
static void forEachWeight(
    const FunctionGraph &source,
    llvm::function_ref<void(StringRef, const plan::DimNodes &)> visit) {
  for (auto [number, op] : llvm::enumerate(source.ops))
    if (auto weight = dyn_cast<onnx::WeightOp>(op))
      visit(weight.getName(),
            source.graph.values[source.graph.ops[number].resultValues[0]].dims);
}

/// The factors of all choices, each in the first weight that has it, those of the
/// first choice first.
static std::vector<ChosenSplits::Factor>
describe(const FunctionGraph &source, ArrayRef<plan::LeafChoice> choices) {
  llvm::DenseMap<plan::FactorNode, size_t> choiceOf;
  for (auto [number, choice] : llvm::enumerate(choices))
    for (plan::FactorNode leaf : choice.leaves)
      choiceOf[leaf] = number;
  std::vector<std::vector<ChosenSplits::Factor>> byChoice(choices.size());
  forEachWeight(source, [&](StringRef name, const plan::DimNodes &dims) {
    for (auto [d, dim] : llvm::enumerate(dims))
      for (auto [position, leaf] : llvm::enumerate(leavesOf(source.graph, dim)))
        if (auto found = choiceOf.find(leaf); found != choiceOf.end()) {
          byChoice[found->second].push_back(
              {name.str(), d, position, choices[found->second].axes});
          choiceOf.erase(found);
        }
  });
  std::vector<ChosenSplits::Factor> factors;
  for (auto &own : byChoice)
    llvm::append_range(factors, own);
  return factors;
}

void ChosenSplits::apply(const FunctionGraph &source, plan::Plan &start) const {
  std::vector<plan::LeafChoice> choices(factors.size());
  llvm::StringMap<llvm::SmallVector<size_t, 2>> ofWeight;
  for (auto [number, factor] : llvm::enumerate(factors)) {
    choices[number].axes = factor.axes;
    ofWeight[factor.weight].push_back(number);
  }
  llvm::DenseSet<plan::FactorNode> done;
  forEachWeight(source, [&](StringRef name, const plan::DimNodes &dims) {
    auto known = standsFor.find(name);
    if (known == standsFor.end())
      return;
    for (size_t number : ofWeight.lookup(known->second)) {
      const Factor &factor = factors[number];
      if (factor.dim >= dims.size())
        continue;
      const auto leaves = leavesOf(source.graph, dims[factor.dim]);
      if (factor.position < leaves.size() &&
          done.insert(leaves[factor.position]).second)
        choices[number].leaves.push_back(leaves[factor.position]);
    }
  });
  plan::applyChoices(source.graph, choices, start);
}

ChosenSplits chooseSplits(func::FuncOp function, const PriceContext &context,
                          plan::ExpertMode experts,
                          const plan::AxisOptions &options) {
  ChosenSplits chosen;
  const plan::AxisList axes = plan::matrixAxes(context.stage, experts);
  if (dist::numWays(axes) == 1)
    return chosen;
  const EqualLayers layers(function);
  const FunctionGraph source(
      function, [](StringRef) { return dist::kNominalSize; }, &layers);
  const plan::Graph &graph = source.graph;
  const plan::Kernels kernels(graph);
  auto complete = [&](const plan::Plan &start) {
    return plan::planByRoles(graph, context.stage, onnx::isDecode(function),
                             experts, options, &start);
  };
  auto price = [&](const plan::Plan &plan) {
    plan::PlanPrice price;
    plan::RunCost cost(graph, kernels, context.machine, context.mesh);
    for (auto [op, seconds] : llvm::enumerate(cost.run(plan, context.sizes)))
      price.seconds += seconds.total() * graph.ops[op].count;
    for (auto [op, memory] :
         llvm::enumerate(plan::memoryOf(graph, kernels, plan, context.sizes)))
      price.weightBytes += memory.weights * graph.ops[op].count;
    return price;
  };
  const plan::Plan start(graph);
  const plan::SplitSolution solution = plan::searchSplits(
      {graph, axes, start, complete, price}, budgetFor(graph));
  chosen.factors = describe(source, solution.choices);
  if (chosen.factors.empty())
    return chosen;
  for (auto weight : function.getOps<onnx::WeightOp>())
    chosen.standsFor[weight.getName()] =
        cast<onnx::WeightOp>(layers.representative(weight)).getName().str();
  llvm::raw_string_ostream os(chosen.why);
  os << "splits of weights were chosen for these sizes: "
     << llvm::format("%.2f of the predicted time of those without",
                     solution.after.seconds / solution.before.seconds)
     << (solution.isExact ? ", the best of " : ", the best found in ")
     << solution.numTried << " plans";
  return chosen;
}

} // namespace shardc::shard
