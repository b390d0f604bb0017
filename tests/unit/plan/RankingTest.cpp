//===- RankingTest.cpp - Degrees that suit a model and a machine ----------===//

#include "passes/plan/degrees/Remedy.h"

#include "dialects/dist/Dist.h"
#include "passes/plan/machine/ReadMachine.h"
#include "passes/shard/FunctionGraph.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace shardc;
using namespace mlir;
using plan::Candidate;
using plan::Goal;

namespace {

constexpr int64_t kLayers = 8, kWidth = 4096, kInner = 16384;

/// Layers of an up and a down projection, 268 MB each in f16.
std::string makeModel() {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "!x = tensor<?x4096xf16, #dist.value<dims = [batch, 4096]>>\n"
        "!h = tensor<?x16384xf16, #dist.value<dims = [batch, 16384]>>\n"
        "!u = tensor<4096x16384xf16>\n!d = tensor<16384x4096xf16>\n"
        "func.func @main(%y0: !x) -> !x {\n";
  for (int64_t i = 0; i < kLayers; ++i) {
    auto weight = [&](const char *name, const char *type) {
      os << "%" << name << i << " = onnx.Weight {name = \"" << name << i
         << "\", file = \"w\", offset = 0 : i64, length = 134217728 : i64} : "
            "() -> "
         << type << "\n";
    };
    weight("up", "!u");
    weight("down", "!d");
    os << "%a" << i << " = onnx.MatMul %y" << i << ", %up" << i
       << " : (!x, !u) -> !h\n"
       << "%b" << i << " = onnx.Relu %a" << i << " : (!h) -> !h\n"
       << "%y" << i + 1 << " = onnx.MatMul %b" << i << ", %down" << i
       << " : (!h, !d) -> !x\n";
  }
  os << "return %y" << kLayers << " : !x\n}\n";
  return text;
}

class Ranking : public ::testing::Test {
protected:
  Ranking() {
    context
        .loadDialect<func::FuncDialect, dist::DistDialect, onnx::OnnxDialect>();
    module = parseSourceString<ModuleOp>(makeModel(), ParserConfig(&context));
    source.emplace(*module->getOps<func::FuncOp>().begin(),
                   [](StringRef) { return 64; });
    program.graph = &source->graph;
    program.kernels.emplace(source->graph);
    // One product in a piece.
    for (unsigned op = 0, piece = 0; op < source->graph.ops.size(); ++op) {
      const bool isProduct = source->graph.ops[op].usesWeight;
      if (isProduct && program.pieces.size() > piece)
        ++piece;
      if (isProduct)
        program.pieces.push_back({1, kWeightBytes, 1});
      program.ops.push_back({op, {piece}, {}});
    }
    workload.prompt.program = &program;
    workload.batchSymbol = "batch";
    workload.hasMicroBatches = true;
    setBatch(8);
    EXPECT_EQ(plan::parseMachine("h100:1x8", machine), "");
  }

  void setBatch(int64_t batch) {
    workload.batch = batch;
    workload.prompt.sizes.set("batch", batch);
  }
  void setMemory(double bytes) {
    machine.devices.front().memoryBytes = bytes;
    machine.devices.front().reservedBytes = 0;
  }
  Candidate best(Goal goal) {
    return plan::rankDegrees(workload, machine, goal).front();
  }
  Candidate candidate(const std::string &flags, Goal goal = Goal::Latency) {
    for (const Candidate &one : plan::rankDegrees(workload, machine, goal))
      if (one.degrees.flags() == flags)
        return one;
    ADD_FAILURE() << "no candidate " << flags;
    return {};
  }

  static constexpr double kWeightBytes = 2.0 * kWidth * kInner;
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  std::optional<shard::FunctionGraph> source;
  plan::Program program;
  plan::Workload workload;
  plan::Machine machine;
};

TEST_F(Ranking, OneDeviceHasTheMostTokensOfEach) {
  EXPECT_EQ(best(Goal::Throughput).degrees.flags(), "--tp 1");
  EXPECT_EQ(best(Goal::Fit).degrees.flags(), "--tp 1");
}

TEST_F(Ranking, AStepIsShortestOnAllOfThem) {
  const Candidate found = best(Goal::Latency);
  EXPECT_EQ(found.degrees.tp, 8);
  EXPECT_EQ(found.degrees.numRanks(), 8);
  EXPECT_EQ(found.reason, "the shortest prompt");
}

TEST_F(Ranking, WhatDoesNotFitComesLastAndSaysSo) {
  setMemory(kLayers * 2 * kWeightBytes / 3);
  const Candidate found = best(Goal::Fit);
  EXPECT_EQ(found.degrees.numRanks(), 4);
  EXPECT_TRUE(found.prediction.fits());
  const Candidate alone = candidate("--tp 1", Goal::Fit);
  EXPECT_FALSE(alone.prediction.fits());
  EXPECT_EQ(alone.reason, "does not fit: 2.1 of 0.7 GB a rank");
}

TEST_F(Ranking, SaysWhatWouldFit) {
  setMemory(kLayers * 2 * kWeightBytes / 12);
  EXPECT_FALSE(best(Goal::Fit).prediction.fits());
  EXPECT_EQ(plan::whatWouldFit(workload, machine),
            "16 devices (--tp 8 --pp 2); 8-bit weights (--tp 8)");
  setMemory(kLayers * 2 * kWeightBytes / 24);
  EXPECT_EQ(plan::whatWouldFit(workload, machine), "32 devices (--tp 32)");
}

TEST_F(Ranking, KindsOfRequestsAreWeighed) {
  plan::Workload few = workload, many = workload;
  few.weight = 3;
  many.batch = 4096;
  many.prompt.sizes.set("batch", 4096);
  auto predict = [&](llvm::ArrayRef<plan::Workload> kinds) {
    plan::FixedDegrees fixed{{{"tp", 2}, {"pp", 1}, {"dp", 1}, {"cp", 1}}};
    return plan::rankDegrees(kinds, machine, Goal::Latency, fixed)
        .front()
        .prediction;
  };
  const plan::Prediction small = predict(few), large = predict(many),
                         both = predict({few, many});
  EXPECT_NEAR(both.prompt.total,
              (3 * small.prompt.total + large.prompt.total) / 4, 1e-12);
  EXPECT_DOUBLE_EQ(both.memory.total(), large.memory.total());
  // Rows of all requests over the time of all.
  EXPECT_NEAR(both.tokensPerSecond,
              (3 * small.tokensPerSecond * small.prompt.total +
               large.tokensPerSecond * large.prompt.total) /
                  (3 * small.prompt.total + large.prompt.total),
              1e-6 * both.tokensPerSecond);
}

TEST_F(Ranking, WeightsAreHeldOnceBetweenTheRanks) {
  EXPECT_DOUBLE_EQ(candidate("--tp 1").prediction.memory.weights,
                   kLayers * 2 * kWeightBytes);
  EXPECT_DOUBLE_EQ(candidate("--tp 4").prediction.memory.weights,
                   kLayers * 2 * kWeightBytes / 4);
  EXPECT_DOUBLE_EQ(candidate("--dp 2").prediction.memory.weights,
                   kLayers * 2 * kWeightBytes);
}

TEST_F(Ranking, PartsAddUpToTheWhole) {
  for (const Candidate &one :
       plan::rankDegrees(workload, machine, Goal::Latency)) {
    const plan::RunPrediction &run = one.prediction.prompt;
    EXPECT_NEAR(run.total, run.busy.total() + run.bubble, 1e-9 * run.total)
        << one.degrees.flags();
  }
}

TEST_F(Ranking, APipelineOfOneRequestIsNoFaster) {
  plan::Predictor predictor(workload, machine);
  plan::Degrees one, two;
  two.pp = 2;
  const plan::RunPrediction alone = predictor.predict(one).prompt,
                            staged = predictor.predict(two).prompt;
  EXPECT_GT(staged.total, alone.total);
  EXPECT_NEAR(staged.bubble, alone.total / 2, 0.01 * alone.total);
  // With two parts of the batch half of the bubble is left.
  two.microBatches = 2;
  EXPECT_LT(predictor.predict(two).prompt.bubble, staged.total / 2);
}

TEST_F(Ranking, NoReplicaIsWithoutARow) {
  setBatch(2);
  for (const Candidate &one :
       plan::rankDegrees(workload, machine, Goal::Latency))
    EXPECT_LE(one.degrees.dp, 2);
}

TEST_F(Ranking, WeightsAreSharedOutWhereMemoryAsksForIt) {
  for (const Candidate &one :
       plan::rankDegrees(workload, machine, Goal::Latency))
    EXPECT_EQ(one.degrees.fsdp, 1) << "all fits";
  setMemory(0.9e9);
  const plan::FixedDegrees fixed{{{"tp", 1}, {"pp", 1}}};
  const Candidate found =
      plan::rankDegrees(workload, machine, Goal::Fit, fixed).front();
  EXPECT_TRUE(found.prediction.fits());
  EXPECT_EQ(found.degrees.flags(), "--fsdp 4");
  EXPECT_EQ(found.degrees.mesh(), (dist::Mesh{{{"fsdp", 4}, {"tp", 1}}}));
  EXPECT_DOUBLE_EQ(found.prediction.memory.weights,
                   kLayers * 2 * kWeightBytes / 4);
  EXPECT_GT(found.prediction.memory.activations, 2 * kWeightBytes);
  EXPECT_LT(found.prediction.memory.activations, 2.1 * kWeightBytes);
  EXPECT_GT(found.prediction.prompt.busy.communication, 0);
}

TEST_F(Ranking, AsManyWaysAsAreAskedForShareWeightsOut) {
  const Candidate found =
      plan::rankDegrees(workload, machine, Goal::Latency, {{{"fsdp", 2}}})
          .front();
  EXPECT_EQ(found.degrees.fsdp, 2);
}

TEST_F(Ranking, EqualLayersChangeNoPrediction) {
  const shard::EqualLayers layers(*module->getOps<func::FuncOp>().begin());
  const shard::FunctionGraph folded(
      *module->getOps<func::FuncOp>().begin(), [](StringRef) { return 64; },
      &layers);
  EXPECT_LT(folded.graph.ops.size(), source->graph.ops.size() * 2 / 3);
  plan::Program short_;
  short_.graph = &folded.graph;
  short_.kernels.emplace(folded.graph);
  short_.pieces = program.pieces;
  llvm::DenseMap<Operation *, unsigned> numbers;
  for (auto [number, op] : llvm::enumerate(folded.ops))
    numbers[op] = number;
  for (auto [number, op] : llvm::enumerate(source->ops))
    short_.ops.push_back(
        {numbers.at(layers.representative(op)), program.ops[number].pieces});
  const std::vector<Candidate> whole =
      plan::rankDegrees(workload, machine, Goal::Latency);
  workload.prompt.program = &short_;
  const std::vector<Candidate> found =
      plan::rankDegrees(workload, machine, Goal::Latency);
  ASSERT_EQ(found.size(), whole.size());
  for (size_t i = 0; i < whole.size(); ++i) {
    EXPECT_EQ(found[i].degrees.flags(), whole[i].degrees.flags());
    EXPECT_NEAR(found[i].prediction.prompt.total,
                whole[i].prediction.prompt.total, 1e-12)
        << whole[i].degrees.flags();
    EXPECT_EQ(found[i].prediction.memory.total(),
              whole[i].prediction.memory.total());
  }
}

} // namespace
