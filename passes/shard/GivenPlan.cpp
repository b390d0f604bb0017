//===- GivenPlan.cpp - Whether a user's plan is one of a program ----------===//

#include "passes/shard/GivenPlan.h"

#include "dialects/onnx/WholeSums.h"
#include "passes/verify/CheckRule.h"

using namespace mlir;

namespace shardc::shard {

using dist::Sharding;

namespace {

/// What an op would hold under a plan.
struct HeldByOp {
  SmallVector<Sharding, 3> operands, results;
  std::string problem; ///< of one that no value has
};

HeldByOp heldBy(const plan::Graph &graph, const plan::Plan &plan,
                unsigned number, const dist::Mesh &mesh) {
  const plan::GraphOp &op = graph.ops[number];
  HeldByOp held;
  auto add = [&](SmallVector<Sharding, 3> &to, Sharding sharding,
                 unsigned value) {
    if (held.problem.empty() && value != plan::kNoValue)
      held.problem =
          dist::findProblem(sharding, graph.values[value].sizes, mesh);
    to.push_back(std::move(sharding));
  };
  for (auto [i, value] : llvm::enumerate(op.operandValues))
    add(held.operands, operandSharding(graph, plan, number, i), value);
  for (auto [i, value] : llvm::enumerate(op.resultValues))
    add(held.results, resultSharding(graph, plan, number, i), value);
  return held;
}

} // namespace

std::string findMistake(const FunctionGraph &source, const plan::Plan &plan,
                        const plan::OpNames &names, const dist::Mesh &mesh) {
  for (auto [number, op] : llvm::enumerate(source.ops)) {
    const plan::OpPlan &decided = plan.ops[number];
    auto onnxOp = dyn_cast<onnx::OnnxOp>(op);
    if (!onnxOp || (decided.splits.empty() && decided.carried.empty()))
      continue; // it is whole
    HeldByOp held = heldBy(source.graph, plan, number, mesh);
    if (held.problem.empty())
      held.problem =
          verify::checkRule(onnx::ruleOf(onnxOp), onnx::partialRuleOf(onnxOp),
                            held.operands, held.results, mesh);
    if (!held.problem.empty())
      return names.nodes[number] + ": " + held.problem + "; " +
             plan::howToSplit(source.graph, number);
  }
  return "";
}

} // namespace shardc::shard
