//===- TrainingTest.cpp - What a training step's time and memory are ------===//

#include "passes/plan/degrees/TrainingStep.h"

#include "passes/plan/cost/TrainingCost.h"
#include "tests/unit/plan/ParsedGraph.h"

using namespace shardc;
using namespace mlir;
using plan::Recompute;

namespace {

/// y = x . first, whole; then . up and . down, as column- and row-parallel product,
/// and its sum with y.
const char kProducts[] = R"mlir(
!x = tensor<?x4xf32, #dist.value<dims = [batch, 4]>>
!h = tensor<?x8xf32, #dist.value<dims = [batch, 8]>>
func.func @main(%x: !x) -> !x {
  %first = onnx.Weight {name = "first", file = "w", offset = 0 : i64, length = 64 : i64} : () -> tensor<4x4xf32>
  %up = onnx.Weight {name = "up", file = "w", offset = 0 : i64, length = 128 : i64} : () -> tensor<4x8xf32>
  %down = onnx.Weight {name = "down", file = "w", offset = 0 : i64, length = 128 : i64} : () -> tensor<8x4xf32>
  %y = onnx.MatMul %x, %first : (!x, tensor<4x4xf32>) -> !x
  %u = onnx.MatMul %y, %up : (!x, tensor<4x8xf32>) -> !h
  %r = onnx.Relu %u : (!h) -> !h
  %d = onnx.MatMul %r, %down : (!h, tensor<8x4xf32>) -> !x
  %s = onnx.Add %d, %y : (!x, !x) -> !x
  return %s : !x
}
)mlir";

/// Queries, keys and values of a weight: 2 heads of 8; of 4 positions.
const char kAttention[] = R"mlir(
!q = tensor<1x2x4x8xf16, #dist.value<dims = [1, 2, 4, 8]>>
!w = tensor<8x8xf16>
func.func @main(%x: !q) -> !q {
  %w = onnx.Weight {name = "w", file = "w", offset = 0 : i64, length = 128 : i64} : () -> !w
  %q = onnx.MatMul %x, %w : (!q, !w) -> !q
  %y = onnx.Attention %q, %q, %q {is_causal = 1 : i64, scale = 1.0 : f32} : (!q, !q, !q) -> !q
  return %y : !q
}
)mlir";

class Training : public PricedGraph {
protected:
  Training() {
    options.overlapsLayers = false;
    load(kProducts);
  }

  /// Columns of `up` and rows of `down`.
  void splitInside() { split(leaf(kUp, 1, 1)); }
  std::vector<plan::OpTraining> costs(int64_t microBatches = 1) {
    return plan::TrainingCost(graph(), *kernels, machine, mesh, options,
                              microBatches)
        .costs(plan, plan::Sizes(sizes));
  }

  static constexpr unsigned kFirst = 3, kUp = 4, kRelu = 5, kDown = 6,
                            kSum = 7; ///< ops
  plan::TrainingOptions options;
};

TEST_F(Training, ProductsHaveTwoGradientsAndInputsNone) {
  const auto found = costs();
  const double up = 4 * (10 * 4 + 4 * 8 + 10 * 8);
  EXPECT_DOUBLE_EQ(found[kUp].forward.read, up);
  EXPECT_DOUBLE_EQ(found[kUp].backward.read, 2 * up);
  EXPECT_DOUBLE_EQ(found[kDown].backward.read, 2 * up);
  const double first = 4 * (10 * 4 + 4 * 4 + 10 * 4);
  // And y has two users, whose gradients are added up.
  EXPECT_DOUBLE_EQ(found[kFirst].backward.read, first + 3 * 4 * 10 * 4);
}

TEST_F(Training, RowsReadGradientsAndWhatTheyReadAndSumsPassThemOn) {
  const auto found = costs();
  EXPECT_DOUBLE_EQ(found[kRelu].forward.read, 2 * 4 * 10 * 8);
  EXPECT_DOUBLE_EQ(found[kRelu].backward.read, 3 * 4 * 10 * 8);
  EXPECT_EQ(found[kSum].backward.read, 0);
}

TEST_F(Training, ComputesTwiceAsMuchBackward) {
  device().bytesPerSecond = 1e30;
  device().multiplyAdds[32] = 1;
  device().tiles = {{1, 1, 1.0}};
  const auto found = costs();
  EXPECT_DOUBLE_EQ(found[kUp].forward.compute, 10 * 4 * 8);
  EXPECT_DOUBLE_EQ(found[kUp].backward.compute, 2 * 10 * 4 * 8);
  EXPECT_DOUBLE_EQ(found[kFirst].backward.compute, 10 * 4 * 4);
}

TEST_F(Training, APartWhollyUsedHasAGradientToSum) {
  EXPECT_EQ(costs()[kUp].backward.communication, 0);
  splitInside();
  const auto found = costs();
  // Around a ring of two: half of it twice, there and back; the sum before
  // `s` forward, the one of y's gradient backward.
  EXPECT_DOUBLE_EQ(found[kSum].forward.communication, 4 * 10 * 4);
  EXPECT_DOUBLE_EQ(found[kUp].backward.communication, 4 * 10 * 4);
  EXPECT_EQ(found[kDown].backward.communication, 0);
}

TEST_F(Training, GradientsOfWeightsHideCollectives) {
  splitInside();
  options.overlapsLayers = true;
  device().speedBeside = 0.5;
  // 160 s beside a product of (10 * 4 + 4 * 4 + 10 * 4) * 4 = 384 s, at half of
  // its speed meanwhile.
  EXPECT_DOUBLE_EQ(costs()[kUp].backward.communication, 160 * 0.5);
  machine.inside.send = plan::Curve::ofRate(0.1, 0);
  EXPECT_DOUBLE_EQ(costs()[kUp].backward.communication, 1600 - 384);
}

TEST_F(Training, FurtherMicroBatchesAreAddedUp) {
  const double once = costs()[kUp].backward.read;
  const double weights = 4 * 4 * 8;
  EXPECT_DOUBLE_EQ(costs(2)[kUp].backward.read, once + 3 * weights);
}

TEST_F(Training, OperandsOfProductsAndRowsAreKept) {
  const auto found = costs();
  EXPECT_EQ(found[kFirst].kept, 4 * 10 * 4);
  EXPECT_EQ(found[kUp].kept, 4 * 10 * 8);
  EXPECT_EQ(found[kRelu].kept, 4 * 10 * 8);
  EXPECT_EQ(found[kDown].kept, 0) << "the sum does not need it";
  options.hasDropout = true;
  EXPECT_EQ(costs()[kSum].kept, 10 * 4) << "a byte each for its mask";
  splitInside();
  EXPECT_EQ(costs()[kUp].kept, 4 * 10 * 4);
}

TEST_F(Training, AttentionAsOneKernelDoesFiveProductsForTwo) {
  load(kAttention);
  device().multiplyAdds[16] = device().multiplyAdds[32] = 1;
  device().attentionMultiplyAdds = 1;
  const auto found = costs();
  const unsigned attention = 2;
  EXPECT_GT(found[attention].forward.compute, 0);
  EXPECT_DOUBLE_EQ(found[attention].backward.compute,
                   2.5 * found[attention].forward.compute);
  EXPECT_EQ(found[attention].scores.total(), 0);
  EXPECT_EQ(found[attention].keptScores, 0);
}

TEST_F(Training, AttentionOpByOpWritesItsScores) {
  load(kAttention);
  device().multiplyAdds[16] = 1e30;
  options.writesScores = true;
  const auto found = costs();
  const unsigned attention = 2;
  // 2 heads, 4 x 4 scores, whatever is masked.
  const double scores = 2 * 4 * 4 * 2, rows = 2 * 4 * 8 * 2;
  EXPECT_DOUBLE_EQ(found[attention].forward.read,
                   (2 * rows + scores) + 2 * scores + (scores + 2 * rows));
  EXPECT_DOUBLE_EQ(found[attention].scores.read, found[attention].forward.read);
  EXPECT_DOUBLE_EQ(found[attention].backward.read,
                   4 * (2 * rows + scores) + 3 * scores);
  EXPECT_EQ(found[attention].keptScores, scores);
  options.hasDropout = true;
  EXPECT_EQ(costs()[attention].keptScores, 2.5 * scores)
      << "5 a s^2 b of Korthikanti et al.";
}

TEST(TrainingStep, EarlierStagesKeepMoreMicroBatches) {
  EXPECT_EQ(plan::microBatchesKept(0, 4, 1, 100), 4);
  EXPECT_EQ(plan::microBatchesKept(3, 4, 1, 100), 1);
  EXPECT_EQ(plan::microBatchesKept(0, 4, 1, 2), 2);
  // p + (p - 1) / v of Korthikanti et al.
  EXPECT_EQ(plan::microBatchesKept(0, 8, 2, 100), 8 + 7.0 / 2);
}

/// As many layers as there are of an up and a down projection in f16.
class TrainingRun : public ParsedGraph {
protected:
  static constexpr int64_t kLayers = 4, kWidth = 1024, kInner = 4096;
  static constexpr double kParameters = 2.0 * kLayers * kWidth * kInner;

  TrainingRun() {
    parse(makeLayers(kLayers, kWidth, kInner));
    program.graph = &graph();
    program.kernels.emplace(graph());
    program.names = source->names();
    program.numLayers = kLayers;
    for (unsigned op = 0; op < graph().ops.size(); ++op)
      program.ops.push_back({op, {}, {int64_t(op) / kOpsOfLayer}});
    workload.prompt.program = &program;
    workload.batchSymbol = "batch";
    workload.batch = 64;
    workload.training.emplace();
    workload.training->overlapsReplicas = false;
    machine.devices.emplace_back();
    machine.devices.front().bytesPerSecond = 1e9;
    machine.devices.front().multiplyAdds[16] = 1e12;
    machine.devicesPerNode = 64;
    machine.inside.send = plan::Curve::ofRate(1e9, 0);
  }

  static constexpr int64_t kOpsOfLayer = 5;
  plan::Prediction predict(int64_t dp, int64_t pp = 1) {
    plan::Degrees degrees;
    degrees.dp = dp;
    degrees.pp = pp;
    EXPECT_EQ(plan::whyNotTrained(workload, degrees), "");
    return plan::trainingStep(workload, machine, degrees);
  }

  plan::Program program;
  plan::Workload workload;
  plan::Machine machine;
};

TEST_F(TrainingRun, ZeroSharesOutStates) {
  const double P = kParameters, n = 16;
  const double bytes[][3] = {
      {2 * P, 2 * P, 12 * P},
      {2 * P, 2 * P, 12 * P / n},
      {2 * P, 2 * P / n, 12 * P / n},
      {2 * P / n, 2 * P / n, 12 * P / n},
  };
  for (int64_t stage = 0; stage < 4; ++stage) {
    workload.training->zeroStage = stage;
    const plan::MemoryPrediction memory = predict(16).memory;
    EXPECT_DOUBLE_EQ(memory.weights, bytes[stage][0]);
    EXPECT_DOUBLE_EQ(memory.gradients, bytes[stage][1]);
    EXPECT_DOUBLE_EQ(memory.optimizer, bytes[stage][2]);
  }
}

TEST_F(TrainingRun, ReplicasSendTwoOrThreeTimesTheParameters) {
  workload.batch = 16; // a micro-batch of each replica
  const double whole = 2 * kParameters * 15 / 16 / 1e9;
  for (auto [stage, times] : {std::pair(0, 2), {1, 2}, {2, 2}, {3, 3}}) {
    workload.training->zeroStage = stage;
    EXPECT_NEAR(predict(16).training->gradients, times * whole, 1e-9) << stage;
  }
}

TEST_F(TrainingRun, StagesWaitForTheFirstAndLastMicroBatch) {
  const plan::Prediction plain = predict(1, 4);
  const plan::TrainingPrediction &training = *plain.training;
  EXPECT_EQ(training.microBatches, 64);
  const double busy =
      training.forward + training.backward + training.recomputed;
  // (p - 1) / m of all work, as far as stages are equal.
  EXPECT_NEAR(plain.prompt.bubble, busy * 3 / 64, 0.1 * busy * 3 / 64);
  workload.training->interleave = 1;
  EXPECT_LT(predict(1, 2).prompt.bubble, plain.prompt.bubble);
}

TEST_F(TrainingRun, RecomputingKeepsLittleAndRunsForwardAgain) {
  const plan::Prediction kept = predict(1);
  workload.training->recompute = Recompute::Full;
  const plan::Prediction again = predict(1);
  EXPECT_EQ(kept.training->recomputed, 0);
  EXPECT_DOUBLE_EQ(again.training->recomputed, kept.training->forward);
  EXPECT_LT(again.memory.activations, kept.memory.activations);
}

TEST_F(TrainingRun, SaysWhatCannotBe) {
  plan::Degrees degrees;
  degrees.dp = 128;
  EXPECT_EQ(plan::whyNotTrained(workload, degrees),
            "a batch of 64 has no 128 times 1 rows");
  degrees = {};
  degrees.pp = 8;
  EXPECT_EQ(plan::whyNotTrained(workload, degrees),
            "its 4 equal layers make no 8 chunks");
}

} // namespace
