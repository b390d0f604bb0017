//===- PipelineTest.cpp - Stages and replicas -----------------------------===//
#include "runtime/artifact/Artifact.h"
#include "tests/unit/runtime/SessionFixture.h"

namespace shardc::runtime {
namespace {

using namespace test;

/// y = x, which goes to stage 1.
ProgramBuilder firstStage(const std::string &kernel = "TestFail",
                          int64_t transfer = 0, int64_t to = 1) {
  ProgramBuilder p({{"tp", 2}});
  auto n = p.symbol("n", 0, 0);
  auto x = p.input("x", Float32, {p.whole(n)});
  auto y = p.value(Float32, {n});
  p.run(kernel, {int32_t(x)}, {int32_t(y)}, {p.ints("fail", {1})}, -1,
        "/first");
  p.run("send", {int32_t(y)}, {},
        {p.ints("stage", {to}), p.ints("transfer", {transfer})}, -1, "/first");
  return p;
}

/// z = the sum over both ranks of what comes.
ProgramBuilder secondStage(artifact::ElementType element = Float32) {
  ProgramBuilder p({{"tp", 2}});
  auto n = p.symbol("n", 0, 0);
  p.input("x", Float32, {p.whole(n)});
  auto y = p.value(element, {n});
  p.run("receive", {}, {int32_t(y)},
        {p.ints("stage", {0}), p.ints("transfer", {0})}, -1, "/first");
  auto z = p.value(element, {n});
  p.run("all_reduce", {int32_t(y)}, {int32_t(z)}, {p.text("kind", "sum")},
        p.group({{0, 1, 2}}), "/second");
  p.output("z", z, {p.whole(n)});
  return p;
}

struct TwoStages : TestArtifact {
  TwoStages(const ProgramBuilder &first, const ProgramBuilder &second,
            int64_t replicas = 1)
      : TestArtifact(first) {
    manifest["mesh"] = {{{"name", "dp"}, {"size", replicas}},
                        {{"name", "pp"}, {"size", 2}},
                        {{"name", "tp"}, {"size", 2}}};
    addProgram(second, 1);
  }
};

TEST(Pipeline, StagesPassValuesOn) {
  TwoStages artifact(firstStage(), secondStage());
  OpenSession s(artifact);
  EXPECT_EQ(s.session->worldSize(), 4);
  for (float scale : {1.0f, 3.0f}) {
    Floats x({scale, 2 * scale}, {2});
    ASSERT_TRUE(s.run({x.as("x")}).isOk());
    EXPECT_EQ(s.floats(0), (std::vector<float>{2 * scale, 4 * scale}));
  }
  EXPECT_EQ(s.session->rankMemory().size(), 4u);
  EXPECT_EQ(s.session->collectiveStats().size(), 1u);
}

TEST(Pipeline, ManyRequestsOverReplicas) {
  for (int64_t replicas : {1, 2, 3}) {
    TwoStages artifact(firstStage(), secondStage(), replicas);
    OpenSession s(artifact);
    EXPECT_EQ(s.session->worldSize(), 4 * replicas);
    std::vector<Floats> data;
    for (int i = 0; i < 20; ++i)
      data.emplace_back(std::vector<float>(1 + i % 3, float(i)),
                        std::vector<int64_t>{1 + i % 3});
    std::vector<InputTensor> inputs;
    for (const Floats &x : data)
      inputs.push_back(x.as("x"));
    std::vector<std::vector<Tensor>> outputs(20);
    std::vector<Request> requests;
    for (size_t i = 0; i < 20; ++i) {
      outputs[i].resize(1);
      requests.push_back({{&inputs[i], 1}, outputs[i]});
    }
    ASSERT_TRUE(s.session->run(requests).isOk());
    for (size_t i = 0; i < 20; ++i) {
      ASSERT_EQ(outputs[i][0].numElements(), int64_t(1 + i % 3));
      EXPECT_EQ(outputs[i][0].as<float>()[0], 2.0f * float(i));
    }
  }
}

TEST(Pipeline, AnErrorOfAStageEndsAllAndTheNextRunWorks) {
  TwoStages artifact(firstStage("TestFail"), secondStage());
  OpenSession s(artifact);
  Floats bad({-1, 2}, {2}), good({1, 2}, {2});
  for (int round = 0; round < 5; ++round) {
    Status status = s.run({bad.as("x")});
    EXPECT_EQ(status.code(), StatusCode::Artifact);
    EXPECT_NE(status.message().find("/first"), std::string::npos)
        << status.message();
    ASSERT_TRUE(s.run({good.as("x")}).isOk());
    EXPECT_EQ(s.floats(0), (std::vector<float>{2, 4}));
  }
}

TEST(Pipeline, RanksOfLaterStagesHaveNumbersOfTheWorld) {
  ProgramBuilder second = secondStage();
  auto n = second.symbol("m", 0, 0);
  auto y = second.value(Float32, {n});
  second.run("TestFail", {0}, {int32_t(y)}, {second.ints("fail", {1})}, -1,
             "/late");
  TwoStages artifact(firstStage("TestCopy"), second);
  OpenSession s(artifact);
  Floats bad({-1}, {1});
  Status status = s.run({bad.as("x")});
  EXPECT_TRUE(status.message().find("rank 2") != std::string::npos ||
              status.message().find("rank 3") != std::string::npos)
      << status.message();
}

TEST(Pipeline, MicroBatchesAreJoined) {
  TwoStages artifact(firstStage(), secondStage());
  artifact.manifest["micro_batches"] = 3;
  artifact.manifest["batch_inputs"] = {0};
  artifact.writeManifest();
  OpenSession s(artifact);
  for (size_t rows : {7u, 2u, 1u, 0u}) {
    std::vector<float> values(rows), doubled(rows);
    for (size_t i = 0; i < rows; ++i)
      doubled[i] = 2 * (values[i] = float(i));
    Floats x(values, {int64_t(rows)});
    ASSERT_TRUE(s.run({x.as("x")}).isOk());
    EXPECT_EQ(s.floats(0), doubled);
  }
}

TEST(Pipeline, AClaimedBatchThatOutputsDoNotHaveIsAnError) {
  ProgramBuilder second = secondStage();
  auto total = second.value(Float32, {});
  second.run("TestFill", {}, {int32_t(total)});
  second.output("total", total, {});
  TwoStages artifact(firstStage(), second);
  artifact.manifest["micro_batches"] = 2;
  artifact.manifest["batch_inputs"] = {0};
  artifact.writeManifest();
  OpenSession s(artifact);
  Floats x({1, 2}, {2});
  Status status = s.run({x.as("x")});
  EXPECT_NE(status.message().find("cannot be put together"), std::string::npos)
      << status.message();
}

std::string refusal(const TestArtifact &artifact) {
  std::unique_ptr<Session> session;
  return Session::open(artifact.path(), {}, session).message();
}

TEST(Pipeline, RanksFollowTheOrderOfTheMesh) {
  TwoStages folder(firstStage(), secondStage(), 3);
  folder.manifest["mesh"] = {{{"name", "tp"}, {"size", 2}},
                             {{"name", "dp"}, {"size", 3}},
                             {{"name", "pp"}, {"size", 2}}};
  folder.writeManifest();
  Artifact artifact;
  ASSERT_TRUE(Artifact::open(folder.path(), {}, artifact).isOk());
  EXPECT_EQ(artifact.numReplicas(), 3);
  for (int replica = 0; replica < 3; ++replica)
    for (int stage = 0; stage < 2; ++stage)
      for (int rank = 0; rank < 2; ++rank)
        EXPECT_EQ(artifact.worldRank(replica, stage, rank),
                  (rank * 3 + replica) * 2 + stage);
  EXPECT_EQ(artifact.rankText(artifact.worldRank(2, 1, 1)),
            "rank 11 (tp 1, dp 2, pp 1)");
  OpenSession s(folder);
  ASSERT_TRUE(s.run({Floats({3, 4}, {2}).as("x")}).isOk());
  EXPECT_EQ(s.floats(0), (std::vector<float>{6, 8}));
  EXPECT_EQ(s.session->rankMemory().size(), 12u);
}

TEST(Pipeline, RefusesStagesThatDoNotFit) {
  auto has = [](const std::string &text, const char *part) {
    return text.find(part) != std::string::npos;
  };
  std::string lost =
      refusal(TwoStages(firstStage("TestFail", 7), secondStage()));
  EXPECT_TRUE(has(lost, "receives transfer 0")) << lost;
  std::string back =
      refusal(TwoStages(firstStage("TestFail", 0, 0), secondStage()));
  EXPECT_TRUE(has(back, "earlier stage")) << back;
  std::string other = refusal(TwoStages(firstStage(), secondStage(Int64)));
  EXPECT_TRUE(has(other, "receives transfer 0")) << other;
  TwoStages missing(firstStage(), secondStage());
  missing.manifest["mesh"][1]["size"] = 3;
  missing.writeManifest();
  std::string size = refusal(missing);
  EXPECT_TRUE(has(size, "does not hold 2 stages")) << size;
}

} // namespace
} // namespace shardc::runtime
