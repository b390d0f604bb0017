//===- SplitSearchTest.cpp - Splits that a predicted time decides ---------===//

#include "passes/plan/SplitSearch.h"

#include "passes/plan/AxisRoles.h"
#include "passes/plan/LeastWork.h"
#include "passes/plan/Pins.h"
#include "passes/plan/cost/RunCost.h"
#include "passes/plan/cost/RunMemory.h"
#include "passes/plan/machine/ReadMachine.h"
#include "tests/unit/plan/ParsedGraph.h"

#include <random>

using namespace shardc;
using plan::LeafChoice;
using plan::Plan;
using plan::PlanPrice;
using plan::SplitSolution;

namespace {

/// Products behind each other, of these widths; some add what came in.
std::string makeChain(llvm::ArrayRef<int64_t> widths, bool addsInput) {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto rows = [](int64_t width) {
    const std::string columns = std::to_string(width);
    return "tensor<?x" + columns + "xf16, #dist.value<dims = [batch, " +
           columns + "]>>";
  };
  os << "func.func @main(%y0: " << rows(widths.front()) << ") -> "
     << rows(widths.back()) << " {\n";
  for (size_t i = 0; i + 1 < widths.size(); ++i) {
    const int64_t from = widths[i], to = widths[i + 1];
    const std::string matrix =
        "tensor<" + std::to_string(from) + "x" + std::to_string(to) + "xf16>";
    const bool adds = addsInput && to == widths.front();
    os << "%w" << i << " = onnx.Weight {name = \"w" << i
       << "\", file = \"w\", offset = 0 : i64, length = " << 2 * from * to
       << " : i64} : () -> " << matrix << "\n%" << (adds ? "m" : "y") << i + 1
       << " = onnx.MatMul %y" << i << ", %w" << i << " : (" << rows(from)
       << ", " << matrix << ") -> " << rows(to) << "\n";
    if (adds)
      os << "%y" << i + 1 << " = onnx.Add %m" << i + 1 << ", %y0 : ("
         << rows(to) << ", " << rows(to) << ") -> " << rows(to) << "\n";
  }
  os << "return %y" << widths.size() - 1 << " : " << rows(widths.back())
     << "\n}\n";
  return text;
}

class SplitSearch : public ParsedGraph {
protected:
  void load(llvm::StringRef text, int64_t ways, int64_t batch,
            const char *topology = "h100:1x8") {
    parse(text);
    kernels.emplace(graph());
    mesh.axes.assign({{"tp", ways}});
    sizes["batch"] = batch;
    EXPECT_EQ(plan::parseMachine(topology, machine), "");
  }

  Plan complete(const Plan &start) const {
    return plan::planByRoles(graph(), mesh, /*isDecode=*/false,
                             plan::ExpertMode::Tensor, {}, &start);
  }
  PlanPrice price(const Plan &plan) const {
    PlanPrice price;
    for (const plan::Seconds &seconds :
         plan::RunCost(graph(), *kernels, machine, mesh)
             .run(plan, plan::Sizes(sizes)))
      price.seconds += seconds.total(),
          price.communication += seconds.communication;
    for (const plan::OpMemory &memory :
         plan::memoryOf(graph(), *kernels, plan, plan::Sizes(sizes)))
      price.weightBytes += memory.weights;
    return price;
  }
  double least(llvm::ArrayRef<LeafChoice> whole) const {
    Plan start(graph());
    plan::applyChoices(graph(), whole, start);
    return plan::leastWork(graph(), *kernels, machine,
                           plan::RunCost(graph(), *kernels, machine, mesh)
                               .run(complete(start), plan::Sizes(sizes)),
                           {double(mesh.numRanks())});
  }
  SplitSolution solve(unsigned budget) const {
    return plan::searchSplits(
        {graph(), dist::wholeMesh(mesh),
         [&](llvm::ArrayRef<LeafChoice> choices) {
           Plan start(graph());
           plan::applyChoices(graph(), choices, start);
           return price(complete(start));
         },
         [](llvm::ArrayRef<LeafChoice>) { return 0.0; },
         [&](llvm::ArrayRef<LeafChoice> whole) { return least(whole); }},
        budget);
  }

  /// Of all plans in which each factor is whole or split as a whole, and no rank
  /// has more weights than in that of the search without sizes.
  double fastest(llvm::ArrayRef<plan::FactorNode> leaves) const {
    const PlanPrice base = price(complete(Plan(graph())));
    double best = base.seconds;
    for (size_t subset = 0; subset < size_t(1) << leaves.size(); ++subset) {
      Plan plan(graph());
      for (auto [number, leaf] : llvm::enumerate(leaves))
        if (subset >> number & 1)
          plan::pinLeaf(graph(), leaf, dist::wholeMesh(mesh), plan);
        else
          for (unsigned op : graph().opsWith(leaf))
            plan.ops[op].settled.push_back(leaf);
      const PlanPrice found = price(complete(plan));
      if (found.weightBytes <= base.weightBytes * (1 + 1e-9))
        best = std::min(best, found.seconds);
    }
    return best;
  }

  std::optional<plan::Kernels> kernels;
  dist::Mesh mesh;
  plan::Machine machine;
  llvm::StringMap<int64_t> sizes;
};

/// Leaves of the matrices, found by another way than the search's.
std::vector<plan::FactorNode> leavesOf(const plan::Graph &graph) {
  std::vector<plan::FactorNode> leaves;
  for (const plan::GraphOp &op : graph.ops)
    if (op.kind == plan::OpKind::Weight)
      for (plan::FactorNode dim : graph.values[op.resultValues.front()].dims)
        if (!llvm::is_contained(leaves, graph.space.find(dim)))
          leaves.push_back(graph.space.find(dim));
  return leaves;
}

TEST_F(SplitSearch, FindsTheFastestOfAllPlansOfUpToEightFactors) {
  std::mt19937 random(7);
  unsigned numBetter = 0;
  for (int round = 0; round < 60; ++round) {
    const int64_t sizesOf[] = {64, 256, 1024, 4096};
    std::vector<int64_t> widths;
    for (size_t i = 0, count = 2 + random() % 7; i < count; ++i)
      widths.push_back(sizesOf[random() % 4]);
    load(makeChain(widths, random() % 2), 2, int64_t(1) << random() % 14);
    const auto leaves = leavesOf(graph());
    ASSERT_LE(leaves.size(), 8u);
    const SplitSolution found = solve(300);
    EXPECT_TRUE(found.isExact);
    EXPECT_LE(found.after.seconds, found.before.seconds);
    // What is faster by less than a prediction can tell is not taken.
    EXPECT_LE(found.after.seconds, fastest(leaves) / 0.99) << round;
    EXPECT_DOUBLE_EQ(found.leastSeconds, found.after.seconds);
    numBetter += !found.choices.empty();
    // Nor does any of them take less than what a search of some says of all.
    const SplitSolution hasty = solve(2);
    EXPECT_FALSE(hasty.isExact);
    // Starts and what has no factor of a weight are not shared out.
    Plan whole(graph());
    for (const auto &own :
         plan::findChoices(graph(), dist::wholeMesh(mesh), true))
      plan::applyChoices(graph(), {own.front()}, whole);
    const PlanPrice all = price(complete(whole));
    EXPECT_GT(hasty.leastSeconds, (all.seconds - all.communication) / 2);
    EXPECT_LE(hasty.leastSeconds, found.after.seconds * (1 + 1e-9)) << round;
  }
  EXPECT_GT(numBetter, 0u);
}

TEST_F(SplitSearch, NeitherSlowerNorLargerThanColumnsThenRows) {
  load(makeLayers(2, 4096, 16384), 8, 512);
  Plan megatron(graph());
  for (const plan::GraphOp &op : graph().ops)
    if (op.kind == plan::OpKind::Weight &&
        graph().values[op.resultValues[0]].sizes[1].isConstant(16384))
      plan::pinLeaf(
          graph(),
          graph().space.find(graph().values[op.resultValues[0]].dims[1]),
          dist::wholeMesh(mesh), megatron);
  const PlanPrice usual = price(complete(megatron));
  const SplitSolution found = solve(200);
  EXPECT_LE(found.after.seconds, usual.seconds * (1 + 1e-9));
  EXPECT_LE(found.after.weightBytes, usual.weightBytes * (1 + 1e-9));
}

/// A residual that stays split between products, over 64 ranks on 8 nodes.
TEST_F(SplitSearch, FindsWhatOnlySizesDecide) {
  load(makeChain({16384, 65536, 16384, 65536, 16384, 65536, 16384}, true), 64,
       4096, "h100:8x8");
  const SplitSolution found = solve(400);
  EXPECT_LT(found.after.seconds, 0.9 * found.before.seconds);
  EXPECT_LE(found.after.weightBytes, found.before.weightBytes * (1 + 1e-9));
  // Matrices in layers are alike: two choices are all there are.
  const auto choices =
      plan::findChoices(graph(), dist::wholeMesh(mesh), /*areTogether=*/true);
  ASSERT_EQ(choices.size(), 2u);
  for (const LeafChoice &one : choices[0])
    for (const LeafChoice &other : choices[1]) {
      Plan plan(graph());
      plan::applyChoices(graph(), {one, other}, plan);
      const PlanPrice pair = price(complete(plan));
      if (pair.weightBytes <= found.before.weightBytes)
        EXPECT_GE(pair.seconds, found.after.seconds);
    }
}

/// So a bound may count no collective for a split: this plan has none.
TEST_F(SplitSearch, ColumnsOfTheLastProductSendNothing) {
  load(makeChain({1024, 1024, 65536}, false), 8, 64);
  Plan plan(graph());
  std::vector<LeafChoice> choices;
  for (const auto &own :
       plan::findChoices(graph(), dist::wholeMesh(mesh), false))
    choices.push_back(graph().space.size(own.front().leaves.front()) == 65536
                          ? own[1]
                          : own.front());
  plan::applyChoices(graph(), choices, plan);
  const PlanPrice columns = price(complete(plan));
  EXPECT_EQ(columns.communication, 0);
  for (LeafChoice &choice : choices)
    choice.axes.clear();
  Plan whole(graph());
  plan::applyChoices(graph(), choices, whole);
  EXPECT_LT(columns.seconds, 0.5 * price(complete(whole)).seconds);
  EXPECT_LE(least(choices), columns.seconds);
}

TEST_F(SplitSearch, StaysWithinItsBudget) {
  load(makeLayers(4, 4096, 16384), 8, 512);
  const SplitSolution found = solve(10);
  EXPECT_LE(found.numTried, 10u);
  EXPECT_FALSE(found.isExact);
  EXPECT_LE(found.after.seconds, found.before.seconds);
}

} // namespace
