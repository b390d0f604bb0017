//===- RunCostTest.cpp - What a run's time and memory are made of ---------===//

#include "passes/plan/cost/RunCost.h"

#include "passes/plan/AxisRoles.h"
#include "passes/plan/cost/RunMemory.h"
#include "tests/unit/plan/ParsedGraph.h"

using namespace shardc;
using namespace mlir;
using plan::Role;

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

/// Two products of one operand, then a chain of ops by rows.
const char kRows[] = R"mlir(
!x = tensor<?x4xf32, #dist.value<dims = [batch, 4]>>
!p = tensor<?x2x2xf32, #dist.value<dims = [batch, 2, 2]>>
!w = tensor<4x4xf32>
func.func @main(%x: !x) -> !x {
  %v = onnx.Weight {name = "v", file = "w", offset = 0 : i64, length = 64 : i64} : () -> !w
  %w = onnx.Weight {name = "w", file = "w", offset = 64 : i64, length = 64 : i64} : () -> !w
  %a = onnx.MatMul %x, %v : (!x, !w) -> !x
  %b = onnx.MatMul %x, %w : (!x, !w) -> !x
  %c = onnx.Add %a, %b : (!x, !x) -> !x
  %d = onnx.Relu %c : (!x) -> !x
  %e = onnx.Reshape %d : (!x) -> !p
  %f = onnx.Neg %e : (!p) -> !p
  %g = onnx.Reshape %f : (!p) -> !x
  %h = onnx.MatMul %g, %v : (!x, !w) -> !x
  return %h : !x
}
)mlir";

/// 2 query heads and one key head of 8; causal.
const char kAttention[] = R"mlir(
!q = tensor<1x2x?x8xf32, #dist.value<dims = [1, 2, seq, 8]>>
!k = tensor<1x1x?x8xf32, #dist.value<dims = [1, 1, past + seq, 8]>>
func.func @main(%q: !q, %k: !k, %v: !k) -> !q {
  %y = onnx.Attention %q, %k, %v {is_causal = 1 : i64, scale = 1.0 : f32} : (!q, !k, !k) -> !q
  return %y : !q
}
)mlir";

class RunCost : public PricedGraph {
protected:
  RunCost() { load(kProducts); }

  plan::Seconds cost() {
    plan::Seconds sum;
    for (const plan::Seconds &seconds :
         plan::RunCost(graph(), *kernels, machine, mesh)
             .run(plan, plan::Sizes(sizes)))
      sum += seconds;
    return sum;
  }
  std::vector<plan::OpMemory> memory() {
    return plan::memoryOf(graph(), *kernels, plan, plan::Sizes(sizes));
  }

  /// x [batch, 4] . up [4, 8], a layer, . down [8, columns], in none, in parts.
  void loadHead(int columns) {
    const std::string width = std::to_string(columns),
                      head = "tensor<8x" + width + "xf32>";
    load(R"mlir(
!x = tensor<?x4xf32, #dist.value<dims = [batch, 4]>>
!h = tensor<?x8xf32, #dist.value<dims = [batch, 8]>>
!y = tensor<?x)mlir" +
         width + "xf32, #dist.value<dims = [batch, " + width + R"mlir(]>>
func.func @main(%x: !x) -> !y {
  %up = onnx.Weight {name = "up", file = "w", offset = 0 : i64, length = 128 : i64} : () -> tensor<4x8xf32>
  %down = onnx.Weight {name = "down", file = "w", offset = 0 : i64, length = )mlir" +
         std::to_string(32 * columns) + " : i64} : () -> " + head + R"mlir(
  %u = onnx.MatMul %x, %up : (!x, tensor<4x8xf32>) -> !h
  %y = onnx.MatMul %u, %down : (!h, )mlir" +
         head + ") -> !y\nreturn %y : !y\n}\n");
    source->graph.ops[kUp].layer = 0;
    plan = plan::planByRoles(graph(), mesh, /*isDecode=*/false,
                             plan::ExpertMode::Tensor, {});
  }

  static constexpr unsigned kUp = 2, kDown = 3, kRelu = 4; ///< ops
};

TEST_F(RunCost, ReadsAndWritesWhatIsInMemory) {
  const double up = 10 * 4 + 4 * 8 + 10 * 8, down = 10 * 8 + 8 * 4 + 10 * 4,
               relu = 2 * 10 * 4;
  EXPECT_DOUBLE_EQ(cost().read, 4 * (up + down + relu));
  EXPECT_EQ(cost().communication, 0);
  sizes.clear();
  EXPECT_DOUBLE_EQ(cost().read, 4 * (2 * (64 * 12 + 32) + 2 * 64 * 4))
      << "the nominal size";
}

TEST_F(RunCost, ComputesWhereThatTakesLonger) {
  device().bytesPerSecond = 1e30;
  device().multiplyAdds[32] = 1;
  // Half a tile's speed, one tile of 64 x 64 each.
  EXPECT_DOUBLE_EQ(cost().compute, (64 * 64 * 4 + 64 * 64 * 8) / 0.5);
  EXPECT_LT(cost().read, 1e-20);
}

/// In parts, beside the product: what that hides is no more than the product.
TEST_F(RunCost, SumsOfManyRowsTravelBesideTheirProduct) {
  device().multiplyAdds[32] = 1;
  sizes["batch"] = 8192;
  split(leaf(kUp, 1, 1));
  device().speedBeside = 0;
  const plan::Seconds whole = cost();
  device().speedBeside = 1;
  const plan::Seconds beside = cost();
  EXPECT_EQ(beside.compute, whole.compute);
  EXPECT_LT(beside.communication, 0.8 * whole.communication);
  EXPECT_GE(beside.communication, whole.communication - whole.compute / 2);
  // Few rows are not cut.
  sizes["batch"] = 128;
  const double few = cost().communication;
  device().speedBeside = 0;
  EXPECT_EQ(cost().communication, few);
}

/// A sum that is returned as well as used is added up once.
TEST_F(RunCost, SumsThatAreReturnedAreAddedUpOnce) {
  split(leaf(kUp, 1, 1));
  const double used = cost().communication;
  EXPECT_GT(used, 0);
  auto returning = [&](const char *values, const char *types) {
    std::string text = kProducts;
    auto replace = [&](llvm::StringRef from, const std::string &to) {
      text.replace(text.find(from.str()), from.size(), to);
    };
    replace("-> !x {", std::string("-> ") + types + " {");
    replace("return %y : !x", std::string("return ") + values);
    load(text);
    split(leaf(kUp, 1, 1));
    return cost().communication;
  };
  EXPECT_DOUBLE_EQ(returning("%d : !x", "!x"), used);
  EXPECT_DOUBLE_EQ(returning("%d, %y : !x, !x", "(!x, !x)"), used);
}

TEST_F(RunCost, SplitMatricesAreHalvedAndNeedOneSum) {
  split(leaf(kUp, 1, 1));
  const double up = 10 * 4 + 4 * 4 + 10 * 4, down = up, relu = 2 * 10 * 4;
  EXPECT_DOUBLE_EQ(cost().read, 4 * (up + down + relu));
  // Around a ring of two: half of it twice, there and back.
  EXPECT_DOUBLE_EQ(cost().communication, 4 * 10 * 4);
}

TEST_F(RunCost, RanksOfOtherNodesTalkOverTheirLinks) {
  split(leaf(kUp, 1, 1));
  machine.nodes = 2;
  machine.devicesPerNode = 1;
  machine.between.send = plan::Curve::ofRate(0.25, 0);
  EXPECT_DOUBLE_EQ(cost().communication, 4 * 4 * 10 * 4);
}

TEST_F(RunCost, SplitRowsLeaveWeightsWholeAndSendNothing) {
  split(leaf(kUp, 0, 0));
  EXPECT_DOUBLE_EQ(cost().read, 4 * (2 * (5 * 12 + 32) + 2 * 5 * 4));
  EXPECT_EQ(cost().communication, 0);
  sizes["batch"] = 1;
  EXPECT_DOUBLE_EQ(cost().read, 4 * (2 * (12 + 32) + 2 * 4))
      << "one rank has the only row";
}

TEST_F(RunCost, WaitsForTheSlowestDevice) {
  machine.devices.push_back(device());
  machine.devices.back().name = "slow";
  const double before = cost().read;
  machine.devices.back().bytesPerSecond = 0.5;
  EXPECT_DOUBLE_EQ(cost().read, 2 * before);
}

TEST_F(RunCost, WeightsAndLiveValuesAreHeld) {
  const std::vector<plan::OpMemory> whole = memory();
  EXPECT_EQ(whole[0].weights, 128);
  EXPECT_EQ(whole[kUp].live, 4 * 10 * 8);
  EXPECT_EQ(whole[kDown].live, 4 * 10 * (8 + 4));
  EXPECT_EQ(whole[kRelu].live, 4 * 10 * (4 + 4));
  EXPECT_EQ(whole[kUp].crossing, 4 * 10 * 8);
  split(leaf(kUp, 1, 1));
  const std::vector<plan::OpMemory> half = memory();
  EXPECT_EQ(half[0].weights, 64);
  EXPECT_EQ(half[kUp].live, 4 * 10 * 4);
}

/// Half of each on a rank, and while it runs two that are whole.
TEST_F(RunCost, SharedWeightsTravelBesideWhatIsComputed) {
  mesh.axes = {{"fsdp", 2}};
  plan = plan::planByRoles(graph(), mesh, /*isDecode=*/false,
                           plan::ExpertMode::Tensor, {});
  EXPECT_DOUBLE_EQ(cost().read, 4 * (2 * (5 * 12 + 32) + 2 * 5 * 4))
      << "rows are split, weights are read whole";
  // Nothing runs beside the first gather; the second one's 64 s pass beside the
  // first product.
  EXPECT_DOUBLE_EQ(cost().communication, 64);
  device().bytesPerSecond = 1e30;
  EXPECT_DOUBLE_EQ(cost().communication, 2 * 64);
  const std::vector<plan::OpMemory> shared = memory();
  EXPECT_EQ(shared[0].weights, 64);
  EXPECT_EQ(shared[kUp].live, 4 * 5 * (4 + 8) + 2 * 128);
}

/// A layer of 128 bytes, gathered in 256 s, that takes 368 s, and a head behind it.
TEST_F(RunCost, WhatIsLargerThanALayerIsGatheredLater) {
  mesh.axes = {{"fsdp", 2}};
  machine.inside.send = plan::Curve::ofRate(0.25, 0);
  for (auto [columns, seconds] :
       {std::pair(4, 256), {6, 256 + 384 - 368 / 2}, {8, 256 + 512}}) {
    loadHead(columns);
    EXPECT_DOUBLE_EQ(cost().communication, seconds) << columns;
    EXPECT_EQ(memory()[kDown].live, 4 * 5 * (8 + columns) + 2 * 128) << columns;
  }
  loadHead(16);
  EXPECT_EQ(memory()[kDown].live, 4 * 5 * (8 + 16) + 512) << "it alone";
}

TEST_F(RunCost, RowsAreFusedAndViewsAreFree) {
  load(kRows);
  enum { kA = 2, kB, kC, kD, kE, kF, kG, kH };
  const std::vector<Role> roles(kernels->roles.begin() + kA,
                                kernels->roles.end());
  EXPECT_EQ(roles, (std::vector<Role>{Role::Product, Role::Product, Role::Rows,
                                      Role::Rows, Role::None, Role::Rows,
                                      Role::None, Role::Product}));
  EXPECT_TRUE(kernels->starts[kA]);
  EXPECT_FALSE(kernels->starts[kB]) << "of the same operand: one product";
  EXPECT_TRUE(kernels->starts[kC]);
  EXPECT_FALSE(kernels->starts[kD]);
  EXPECT_FALSE(kernels->starts[kF]) << "a view lies between";
  EXPECT_TRUE(kernels->starts[kH]);
  // The sum is in registers; its negative is what the last product reads.
  const plan::GraphOp &add = graph().ops[kC], &neg = graph().ops[kF];
  EXPECT_FALSE(kernels->isStored[add.resultValues[0]]);
  EXPECT_TRUE(kernels->isStored[neg.resultValues[0]]);
  device().bytesPerSecond = 1e30;
  device().startSeconds = 1;
  EXPECT_DOUBLE_EQ(cost().compute, 3) << "two products, one kernel of rows";
}

TEST_F(RunCost, CausalAttentionComputesWhatIsSeen) {
  load(kAttention);
  device().attentionBytesPerSecond = 1e30;
  device().multiplyAdds[32] = device().multiplyAdds[16] = 1;
  device().attentionMultiplyAdds = 1;
  sizes = {};
  sizes["seq"] = 4;
  sizes["past"] = 0;
  // Of 4 queries 1 + 2 + 3 + 4 pairs, 2 heads, 8 for a score and 8 for a value.
  EXPECT_NEAR(cost().compute, 2 * 10 * 16, 1e-9);
  sizes["seq"] = 1;
  sizes["past"] = 7;
  EXPECT_NEAR(cost().compute, 2 * 8 * 16, 1e-9) << "all of them";
}

} // namespace
