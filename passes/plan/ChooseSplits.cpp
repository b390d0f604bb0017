//===- ChooseSplits.cpp - Splits of weights for requests of known sizes ---===//

#include "passes/plan/ChooseSplits.h"

#include "passes/plan/LeastWork.h"
#include "passes/plan/SplitSearch.h"
#include "passes/plan/cost/RunCost.h"
#include "passes/plan/cost/RunMemory.h"

#include "llvm/Support/Format.h"

namespace shardc::plan {

using llvm::ArrayRef;
using llvm::StringRef;

/// Plans that are tried; fewer of graphs in which no layers are alike, so that what
/// the search takes is linear in a model's size.
static unsigned budgetFor(const Graph &graph) {
  constexpr size_t kPlans = 250, kOps = 125'000;
  return std::min(kPlans, kOps / std::max<size_t>(1, graph.ops.size()));
}

static llvm::SmallVector<FactorNode, 4> leavesOf(const Graph &graph,
                                                 FactorNode dim) {
  llvm::SmallVector<FactorNode, 4> leaves;
  graph.space.forEachLeaf(
      dim, [&](FactorNode leaf, bool) { leaves.push_back(leaf); });
  return leaves;
}

/// Calls visit(name, dims) for each weight of a graph.
static void forEachWeight(
    const Graph &graph, const OpNames &names,
    llvm::function_ref<void(const std::string &, const DimNodes &)> visit) {
  for (auto [number, op] : llvm::enumerate(graph.ops))
    if (op.kind == OpKind::Weight)
      visit(names.nodes[number], graph.values[op.resultValues[0]].dims);
}

/// The factors of all choices, each in the first weight that has it, those of the
/// first choice first.
static std::vector<ChosenSplits::Factor>
describe(const SizedProgram &program, ArrayRef<LeafChoice> choices) {
  llvm::DenseMap<FactorNode, size_t> choiceOf;
  for (auto [number, choice] : llvm::enumerate(choices))
    for (FactorNode leaf : choice.leaves)
      choiceOf[leaf] = number;
  std::vector<std::vector<ChosenSplits::Factor>> byChoice(choices.size());
  forEachWeight(program.graph, program.names,
                [&](const std::string &name, const DimNodes &dims) {
                  for (auto [d, dim] : llvm::enumerate(dims))
                    for (auto [position, leaf] :
                         llvm::enumerate(leavesOf(program.graph, dim)))
                      if (auto found = choiceOf.find(leaf);
                          found != choiceOf.end()) {
                        const size_t number = found->second;
                        byChoice[number].push_back(
                            {name, d, position, choices[number].axes});
                        choiceOf.erase(found);
                      }
                });
  std::vector<ChosenSplits::Factor> factors;
  for (auto &own : byChoice)
    llvm::append_range(factors, own);
  return factors;
}

void ChosenSplits::apply(
    const Graph &graph, const OpNames &names, Plan &start,
    llvm::function_ref<StringRef(StringRef)> standsFor) const {
  std::vector<LeafChoice> choices(factors.size());
  llvm::StringMap<llvm::SmallVector<size_t, 2>> ofWeight;
  for (auto [number, factor] : llvm::enumerate(factors)) {
    choices[number].axes = factor.axes;
    ofWeight[factor.weight].push_back(number);
  }
  llvm::DenseSet<FactorNode> done;
  forEachWeight(graph, names, [&](StringRef name, const DimNodes &dims) {
    for (size_t number : ofWeight.lookup(standsFor(name))) {
      const Factor &factor = factors[number];
      if (factor.dim >= dims.size())
        continue;
      const auto leaves = leavesOf(graph, dims[factor.dim]);
      if (factor.position < leaves.size() &&
          done.insert(leaves[factor.position]).second)
        choices[number].leaves.push_back(leaves[factor.position]);
    }
  });
  applyChoices(graph, choices, start);
}

std::string ChosenSplits::why() const {
  std::string text;
  llvm::raw_string_ostream(text)
      << llvm::format("%.2f of the predicted time of those without", share)
      << (isExact ? ", the best of " : ", the best found in ") << numTried
      << " plans";
  if (!isExact)
    llvm::raw_string_ostream(text)
        << llvm::format(", none has less than %.2f", leastShare);
  return text;
}

namespace {

/// Plans of all programs, with the same choices for the weights that they share.
class Pricing {
public:
  Pricing(ArrayRef<SizedProgram> programs, const SplitContext &context)
      : programs(programs), context(context) {
    const SizedProgram &main = programs.front();
    llvm::StringMap<const DimNodes *> ofMain;
    forEachWeight(main.graph, main.names,
                  [&](StringRef name, const DimNodes &dims) {
                    ofMain.try_emplace(name, &dims);
                  });
    for (const SizedProgram &program : programs) {
      auto &own = counterparts.emplace_back();
      forEachWeight(program.graph, program.names,
                    [&](StringRef name, const DimNodes &dims) {
                      if (const DimNodes *known = ofMain.lookup(name))
                        pairUp(*known, dims, program.graph, own);
                    });
    }
  }

  PlanPrice ofMain(ArrayRef<LeafChoice> choices) const {
    const Plan plan = planOf(0, choices);
    const Seconds seconds = secondsOf(programs.front(), plan);
    const OpMemory held = heldBy(programs.front(), plan);
    return {seconds.total(), held.weights, seconds.communication, held.kv};
  }
  double leastOfMain(ArrayRef<LeafChoice> whole, double parts) const {
    const SizedProgram &main = programs.front();
    RunCost cost(main.graph, main.kernels, context.machine, context.mesh);
    const bool splitsOthers =
        context.options.sequenceParallel ||
        llvm::any_of(context.stage.axes, [](const dist::Axis &axis) {
          return axis.name == dist::kContextAxis && axis.size > 1;
        });
    return leastWork(main.graph, main.kernels, context.machine,
                     cost.run(planOf(0, whole), main.sizes),
                     {parts, splitsOthers});
  }
  double ofOthers(ArrayRef<LeafChoice> choices) const {
    double seconds = 0;
    for (size_t number = 1; number < programs.size(); ++number)
      seconds += secondsOf(programs[number], planOf(number, choices)).total();
    return seconds;
  }

private:
  using LeafMap = llvm::DenseMap<FactorNode, FactorNode>;

  void pairUp(const DimNodes &main, const DimNodes &dims, const Graph &graph,
              LeafMap &own) const {
    for (auto [mainDim, dim] : llvm::zip(main, dims))
      for (auto [mainLeaf, leaf] : llvm::zip(
               leavesOf(programs.front().graph, mainDim), leavesOf(graph, dim)))
        own.try_emplace(mainLeaf, leaf);
  }

  Plan planOf(size_t number, ArrayRef<LeafChoice> choices) const {
    const SizedProgram &program = programs[number];
    std::vector<LeafChoice> own;
    for (const LeafChoice &choice : choices) {
      LeafChoice &here = own.emplace_back();
      here.axes = choice.axes;
      for (FactorNode leaf : choice.leaves)
        if (auto known = counterparts[number].find(leaf);
            known != counterparts[number].end() &&
            !llvm::is_contained(here.leaves, known->second))
          here.leaves.push_back(known->second);
    }
    Plan start(program.graph);
    applyChoices(program.graph, own, start);
    return planByRoles(program.graph, context.stage, program.isDecode,
                       context.experts, context.options, &start);
  }

  Seconds secondsOf(const SizedProgram &program, const Plan &plan) const {
    Seconds seconds;
    RunCost cost(program.graph, program.kernels, context.machine, context.mesh);
    for (auto [op, own] : llvm::enumerate(cost.run(plan, program.sizes)))
      seconds += own * program.graph.ops[op].count;
    return seconds;
  }

  /// Weights and caches.
  OpMemory heldBy(const SizedProgram &program, const Plan &plan) const {
    OpMemory held;
    for (auto [op, own] : llvm::enumerate(
             memoryOf(program.graph, program.kernels, plan, program.sizes))) {
      held.weights += own.weights * program.graph.ops[op].count;
      held.kv += own.kv * program.graph.ops[op].count;
    }
    return held;
  }

  ArrayRef<SizedProgram> programs;
  const SplitContext &context;
  std::vector<LeafMap> counterparts; ///< by program, of the first one's leaves
};

} // namespace

/// Of ranks with unequal parts, by the smallest part.
static double partsOf(ArrayRef<dist::AxisRef> axes, const dist::Mesh &mesh) {
  auto parts = double(dist::numWays(axes));
  for (const dist::Axis &axis : mesh.axes)
    if (!axis.shares.empty() &&
        llvm::any_of(axes, [&](const dist::AxisRef &ref) {
          return ref.name == axis.name;
        }))
      parts *= double(llvm::sum_of(axis.shares)) /
               double(*llvm::min_element(axis.shares)) / double(axis.size);
  return parts;
}

ChosenSplits chooseSplits(ArrayRef<SizedProgram> programs,
                          const SplitContext &context) {
  ChosenSplits chosen;
  const AxisList axes = matrixAxes(context.stage, context.experts);
  if (dist::numWays(axes) == 1)
    return chosen;
  const SizedProgram &main = programs.front();
  const Pricing pricing(programs, context);
  const SplitSolution solution = searchSplits(
      {main.graph, axes,
       [&](ArrayRef<LeafChoice> choices) { return pricing.ofMain(choices); },
       [&](ArrayRef<LeafChoice> choices) { return pricing.ofOthers(choices); },
       [&](ArrayRef<LeafChoice> whole) {
         return pricing.leastOfMain(whole, partsOf(axes, context.stage));
       }},
      budgetFor(main.graph));
  chosen.factors = describe(main, solution.choices);
  chosen.share = solution.before.seconds > 0
                     ? solution.after.seconds / solution.before.seconds
                     : 1;
  chosen.numTried = solution.numTried;
  chosen.isExact = solution.isExact;
  chosen.leastShare = solution.before.seconds > 0
                          ? solution.leastSeconds / solution.before.seconds
                          : 1;
  return chosen;
}

} // namespace shardc::plan
