//===- AlternativesTest.cpp - What an op could be split like instead ------===//

#include "passes/plan/Alternatives.h"
#include "tests/unit/plan/ParsedGraph.h"

using namespace shardc;
using namespace mlir;
using plan::Plan;

namespace {

/// x [batch, 4] . up [4, 8] . down [8, 4].
const char kProducts[] = R"mlir(
!x = tensor<?x4xf32, #dist.value<dims = [batch, 4]>>
!h = tensor<?x8xf32, #dist.value<dims = [batch, 8]>>
func.func @main(%x: !x) -> !x {
  %up = onnx.Weight {name = "up", file = "w", offset = 0 : i64, length = 128 : i64} : () -> tensor<4x8xf32>
  %down = onnx.Weight {name = "down", file = "w", offset = 0 : i64, length = 128 : i64} : () -> tensor<8x4xf32>
  %u = onnx.MatMul %x, %up : (!x, tensor<4x8xf32>) -> !h
  %d = onnx.MatMul %u, %down : (!h, tensor<8x4xf32>) -> !x
  return %d : !x
}
)mlir";

class Alternatives : public ParsedGraph {
protected:
  Alternatives() {
    parse(kProducts);
    mesh.axes.push_back({"tp", 2});
  }

  /// Columns of up, rows of down, if nothing there is pinned.
  Plan search(const Plan &start) const {
    Plan plan = start;
    const plan::FactorNode hidden = leaf(kUp, 1, 1);
    for (unsigned op : graph().opsWith(hidden))
      if (!plan.ops[op].isDecided({axis}))
        plan.ops[op].split(hidden, {axis});
    return plan;
  }

  /// A second for each op that something splits, `whole` for each other one.
  std::optional<plan::Alternative> best(unsigned op, double whole) const {
    return plan::bestAlternative(
        graph(), op, search(Plan(graph())), mesh,
        [&](const Plan &start) { return search(start); },
        [&](const Plan &plan) {
          plan::Seconds seconds;
          for (const plan::OpPlan &op : plan.ops)
            seconds.compute += op.splits.empty() ? whole : 1;
          return seconds;
        });
  }

  static constexpr unsigned kUp = 2, kDown = 3; ///< ops
  const dist::AxisRef axis{"tp", 1, 2};
  dist::Mesh mesh;
};

TEST_F(Alternatives, theCheapestOtherChoiceIsFound) {
  const auto whole = best(kDown, 0.5);
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->sharding.str(), "[{}, {}]");
  EXPECT_EQ(whole->seconds.total(), 3 + 0.5); // up and the weights stay split
  const auto split = best(kDown, 2);
  ASSERT_TRUE(split);
  EXPECT_NE(split->sharding.str(), "[{}, {}]");
}

TEST_F(Alternatives, theChosenOneIsNone) {
  const auto other = best(kUp, 2);
  ASSERT_TRUE(other);
  EXPECT_NE(other->sharding,
            plan::resultSharding(graph(), search(Plan(graph())), kUp, 0));
}

} // namespace
