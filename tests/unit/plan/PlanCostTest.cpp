//===- PlanCostTest.cpp - What a plan's time is made of -------------------===//

#include "passes/plan/PlanCost.h"

#include "dialects/dist/Dist.h"
#include "passes/shard/FunctionGraph.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace shardc;
using namespace mlir;

namespace {

/// x [batch, 4] . up [4, 8] . down [8, 4], as column- and row-parallel product.
const char kProducts[] = R"mlir(
!x = tensor<?x4xf32, #dist.value<dims = [batch, 4]>>
!h = tensor<?x8xf32, #dist.value<dims = [batch, 8]>>
func.func @main(%x: !x) -> !x {
  %up = onnx.Weight {name = "up", file = "w", offset = 0 : i64, length = 128 : i64} : () -> tensor<4x8xf32>
  %down = onnx.Weight {name = "down", file = "w", offset = 0 : i64, length = 128 : i64} : () -> tensor<8x4xf32>
  %u = onnx.MatMul %x, %up : (!x, tensor<4x8xf32>) -> !h
  %d = onnx.MatMul %u, %down : (!h, tensor<8x4xf32>) -> !x
  %y = onnx.Relu %d : (!x) -> !x
  return %y : !x
}
)mlir";

class PlanCost : public ::testing::Test {
protected:
  PlanCost() {
    context
        .loadDialect<func::FuncDialect, dist::DistDialect, onnx::OnnxDialect>();
    module = parseSourceString<ModuleOp>(kProducts, ParserConfig(&context));
    source.emplace(*module->getOps<func::FuncOp>().begin(),
                   [](StringRef) { return 64; });
    plan = plan::Plan(source->graph);
    sizes["batch"] = 10;
  }

  /// The leaf of an op's dim.
  plan::FactorNode leaf(unsigned op, unsigned operand, unsigned dim) {
    return source->graph.space.find(
        source->graph.ops[op].operands[operand][dim]);
  }
  void split(plan::FactorNode node) {
    for (unsigned number : source->graph.opsWith(node))
      plan.ops[number].split(node, {dist::AxisRef{"tp", 1, 2}});
  }
  double cost(const plan::DeviceBalance &balance) {
    return plan::planCost(source->graph, plan, sizes, balance);
  }

  static constexpr unsigned kUp = 2; ///< behind the two weights
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  std::optional<shard::FunctionGraph> source;
  plan::Plan plan;
  llvm::StringMap<int64_t> sizes;
};

TEST_F(PlanCost, CountsMultiplyAddsOfTypicalSizes) {
  EXPECT_DOUBLE_EQ(cost({0, 0, 0}), 2 * 10 * 4 * 8);
  sizes.clear();
  EXPECT_DOUBLE_EQ(cost({0, 0, 0}), 2 * 64 * 4 * 8) << "the nominal size";
}

TEST_F(PlanCost, CountsReadingOfWeightsWhereThatTakesLonger) {
  EXPECT_DOUBLE_EQ(cost({100, 0, 0}), 2 * 100 * 4 * 8);
  EXPECT_DOUBLE_EQ(cost({1, 0, 0}), 2 * 10 * 4 * 8);
}

TEST_F(PlanCost, SplitMatricesHalveBothAndNeedOneSum) {
  split(leaf(kUp, 1, 1));
  EXPECT_DOUBLE_EQ(cost({0, 0, 0}), 10 * 4 * 8);
  EXPECT_DOUBLE_EQ(cost({100, 0, 0}), 100 * 4 * 8);
  EXPECT_DOUBLE_EQ(cost({0, 0, 7}), 10 * 4 * 8 + 7);
  EXPECT_DOUBLE_EQ(cost({0, 1, 0}), 10 * 4 * 8 + 2 * 10 * 4);
}

TEST_F(PlanCost, SplitRowsLeaveWeightsWholeAndSendNothing) {
  split(leaf(kUp, 0, 0));
  EXPECT_DOUBLE_EQ(cost({0, 5, 7}), 10 * 4 * 8);
  EXPECT_DOUBLE_EQ(cost({100, 5, 7}), 2 * 100 * 4 * 8);
  sizes["batch"] = 1;
  EXPECT_DOUBLE_EQ(cost({0, 0, 0}), 2 * 4 * 8) << "one rank has the only row";
}

} // namespace
