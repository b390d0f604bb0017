//===- RankingTest.cpp - Degrees that suit a model and a machine ----------===//

#include "passes/plan/degrees/Ranking.h"

#include "passes/plan/degrees/FitSearch.h"
#include "passes/plan/degrees/MixPredictor.h"
#include "passes/plan/degrees/Remedy.h"
#include "passes/plan/machine/ReadMachine.h"
#include "tests/unit/plan/ParsedGraph.h"

#include <algorithm>

using namespace shardc;
using namespace mlir;
using plan::Candidate;
using plan::Goal;

namespace {

constexpr int64_t kLayers = 8, kWidth = 4096, kInner = 16384;

class Ranking : public ParsedGraph {
protected:
  Ranking() {
    parse(makeLayers(kLayers, kWidth, kInner));
    program.graph = &graph();
    program.kernels.emplace(graph());
    program.names = source->names();
    // One product in a piece.
    for (unsigned op = 0, piece = 0; op < graph().ops.size(); ++op) {
      const bool isProduct = graph().ops[op].usesWeight;
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

TEST_F(Ranking, FewestDevicesAreThoseOfTheRanking) {
  for (const double part : {1.5, 3.0, 7.0}) {
    setMemory(kLayers * 2 * kWeightBytes / part);
    plan::FitBudget budget;
    const std::optional<plan::Degrees> found =
        plan::findFewestDevices(workload, machine, {}, budget);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->flags(), best(Goal::Fit).degrees.flags());
  }
}

TEST_F(Ranking, LooksForWhatFitsWithinABudget) {
  setMemory(kLayers * 2 * kWeightBytes / 7);
  plan::FitBudget budget{0};
  EXPECT_FALSE(plan::findFewestDevices(workload, machine, {}, budget));
  // What the average rank has no room for is not tried.
  setMemory(kWeightBytes / 100);
  budget.plans = 400;
  EXPECT_FALSE(plan::findFewestDevices(workload, machine, {}, budget));
  EXPECT_EQ(budget.plans, 400);
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

/// A compile cuts stages once: where few rows ask for another cut than many do,
/// all kinds are predicted with that of the typical ones.
TEST_F(Ranking, AllKindsHaveTheCutsOfTheTypicalOne) {
  ASSERT_EQ(plan::parseMachine("{\"nodes\": 2, \"preset\": \"h100\", "
                               "\"devices_per_node\": 1, "
                               "\"devices\": [\"h100\", \"l40s\"]}",
                               machine),
            "");
  // Reads as fast, but multiplies more slowly.
  for (auto &[bits, rate] : machine.devices[1].multiplyAdds)
    rate /= 4;
  machine.devices[1].bytesPerSecond = machine.devices[0].bytesPerSecond;
  plan::Workload few = workload, many = workload;
  few.weight = 3;
  few.batch = 1;
  few.prompt.sizes.set("batch", 1);
  many.batch = 8192;
  many.prompt.sizes.set("batch", 8192);
  plan::Degrees degrees;
  degrees.pp = 2;
  plan::Predictor alone(few, machine), other(many, machine);
  const auto choice = alone.chooseForSizes(degrees);
  ASSERT_NE(choice.cuts, other.chooseForSizes(degrees).cuts);
  const plan::Workload kinds[] = {many, few};
  plan::MixPredictor both(kinds, machine);
  EXPECT_EQ(both.chooseForSizes(degrees).cuts, choice.cuts);
  alone.use(degrees, choice);
  both.use(degrees, choice);
  for (auto [own, mixed] :
       llvm::zip(alone.predict(degrees).stages, both.predict(degrees).stages))
    EXPECT_DOUBLE_EQ(own.memory.weights, mixed.memory.weights);
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

/// Weights of all layers are gathered over "fsdp", which is better inside of a
/// node; "tp", inside in the default order, sums a few rows.
TEST_F(Ranking, TheBestOrderOfRanksIsFound) {
  ASSERT_EQ(plan::parseMachine(R"({"nodes": 2, "devices_per_node": 4,
      "preset": "h100", "between_nodes":
      {"gigabytes_per_second": 5, "microseconds": 10}})",
                               machine),
            "");
  const plan::FixedDegrees fixed{{{"fsdp", 2}, {"dp", 1}, {"cp", 1}}};
  const std::vector<Candidate> found =
      plan::rankDegrees(workload, machine, Goal::Latency, fixed);
  EXPECT_EQ(found.front().degrees.flags(),
            "--tp 4 --fsdp 2 --rank-order fsdp,tp");
  const plan::DegreeSpace space(workload, machine, fixed);
  plan::Predictor predictor(workload, machine);
  for (const Candidate &one : found) {
    plan::Degrees plain = one.degrees;
    plain.sequenceParallel = false;
    plain.microBatches = 1;
    std::vector<std::string> axes;
    for (const char *axis : {"fsdp", "pp", "tp"})
      if (plain.ways(axis) > 1)
        axes.push_back(axis);
    double least = 1e30, leastInDefault = 1e30;
    do
      for (plan::Degrees variant : space.variantsOf(plain)) {
        dist::Mesh mesh;
        for (const std::string &axis : axes)
          mesh.axes.push_back({axis, plain.ways(axis)});
        variant.orderAs(mesh);
        // With no costs of other orders at hand.
        const double alone =
            plan::Predictor(workload, machine).predict(variant).prompt.total;
        EXPECT_EQ(predictor.predict(variant).prompt.total, alone);
        least = std::min(least, alone);
        if (variant.order.empty())
          leastInDefault = std::min(leastInDefault, alone);
      }
    while (std::next_permutation(axes.begin(), axes.end()));
    EXPECT_EQ(one.prediction.prompt.total,
              one.degrees.order.empty() ? leastInDefault : least)
        << one.degrees.flags();
    EXPECT_LT(one.prediction.prompt.total, 1.0101 * least)
        << one.degrees.flags();
  }
}

TEST_F(Ranking, RanksOfANodeHaveTheDefaultOrder) {
  for (const Candidate &one :
       plan::rankDegrees(workload, machine, Goal::Latency, {{{"fsdp", 2}}}))
    EXPECT_TRUE(one.degrees.order.empty()) << one.degrees.flags();
}

TEST_F(Ranking, EqualLayersChangeNoPrediction) {
  const shard::EqualLayers layers(function());
  const shard::FunctionGraph folded(
      function(), [](StringRef) { return 64; }, &layers);
  EXPECT_LT(folded.graph.ops.size(), graph().ops.size() * 2 / 3);
  plan::Program short_;
  short_.graph = &folded.graph;
  short_.kernels.emplace(folded.graph);
  short_.names = folded.names();
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
