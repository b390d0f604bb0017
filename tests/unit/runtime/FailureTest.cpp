//===- FailureTest.cpp - Errors and hangs end every rank ------------------===//
#include "tests/unit/runtime/SessionFixture.h"
#include "tests/unit/runtime/TestKernels.h"

#include <chrono>
#include <thread>

namespace shardc::runtime {
namespace {

using namespace test;

/// `value` on rank 1, 0 on all others.
uint32_t onRankOne(ProgramBuilder &p, int64_t value) {
  auto c = p.coordinate(0), one = p.constant(1);
  auto above =
      p.binary(artifact::ScalarOp_Maximum,
               p.binary(artifact::ScalarOp_Subtract, c, one), p.constant(0));
  auto isOne = p.binary(artifact::ScalarOp_Maximum,
                        p.binary(artifact::ScalarOp_Subtract,
                                 p.binary(artifact::ScalarOp_Minimum, c, one),
                                 p.multiply(above, p.constant(2))),
                        p.constant(0));
  return p.multiply(isOne, p.constant(value));
}

/// The kernel gets an attribute that only rank 1 has; then an all_reduce of `n`
/// floats.
ProgramBuilder unevenProgram(const std::string &kernel, const std::string &name,
                             int64_t value, int64_t ways) {
  ProgramBuilder p({{"tp", ways}});
  auto n = p.symbol("n", 0, 0);
  auto x = p.input("x", Float32, {p.whole(n)});
  auto y = p.value(Float32, {n});
  p.run(kernel, {int32_t(x)}, {int32_t(y)},
        {p.scalars(name, {onRankOne(p, value)})}, -1, "/slow/node");
  auto z = p.value(Float32, {n});
  p.run("all_reduce", {int32_t(y)}, {int32_t(z)}, {p.text("kind", "sum")},
        p.group({{0, 1, ways}}), "/mlp/down");
  p.output("z", z, {p.whole(n)});
  return p;
}

TEST(Failure, aKernelsErrorEndsAllRanksAndTheNextRunWorks) {
  TestArtifact artifact(unevenProgram("TestFail", "fail", 1, 3));
  OpenSession s(artifact, {});
  Floats bad({-1, 2}, {2}), good({1, 2}, {2});
  for (int round = 0; round < 20; ++round) {
    Status status = s.run({bad.as("x")});
    EXPECT_EQ(status.code(), StatusCode::Artifact);
    for (const char *part :
         {"failed on purpose", "/slow/node", "TestFail", "rank 1"})
      EXPECT_NE(status.message().find(part), std::string::npos)
          << status.message();
    ASSERT_TRUE(s.run({good.as("x")}).isOk());
    EXPECT_EQ(s.floats(0), (std::vector<float>{3, 6}));
  }
}

TEST(Failure, aTimeoutNamesCollectiveNodeAndMissingRanks) {
  TestArtifact artifact(unevenProgram("TestSleep", "ms", 3000, 4));
  SessionOptions options;
  options.timeout = std::chrono::milliseconds(100);
  OpenSession s(artifact, options);
  // The sleeper comes back within the time that it gets after the failure only
  // if it is shorter; here it is not, so the session is given up.
  const Floats x({1, 2}, {2}); // goes before the sleeper wakes
  Status status = s.run({x.as("x")});
  EXPECT_EQ(status.code(), StatusCode::Artifact);
  for (const char *part : {"all_reduce", "/mlp/down", "missing: rank 1",
                           "TestSleep", "/slow/node", "--timeout"})
    EXPECT_NE(status.message().find(part), std::string::npos)
        << status.message();
  EXPECT_NE(status.message().find("no longer answers"), std::string::npos);
  EXPECT_EQ(status.place().rank, 1) << "the one that did not come";
  EXPECT_EQ(status.place().kernel, "all_reduce");
  EXPECT_EQ(status.place().node, "/mlp/down");
  EXPECT_FALSE(s.run({x.as("x")}).isOk());
}

/// What a kernel reads where the caller has it, it has until it is done with
/// it.
TEST(Failure, noRankIsGivenUpWithTheCallersMemory) {
  TestArtifact artifact(unevenProgram("TestSleep", "ms", 1500, 3));
  SessionOptions options;
  options.timeout = std::chrono::milliseconds(100);
  OpenSession s(artifact, options);
  constexpr int64_t kLarge = 100'000;
  const int before = timesSlept;
  {
    const Floats x(std::vector<float>(kLarge, 1), {kLarge});
    Status status = s.run({x.as("x")});
    EXPECT_EQ(timesSlept, before + 3) << "on all ranks";
    EXPECT_NE(status.message().find("missing: rank 1"), std::string::npos)
        << status.message();
    EXPECT_EQ(status.message().find("no longer answers"), std::string::npos);
  }
}

/// A load-time program that hangs on rank 1, and reads a weight when it wakes:
/// what it reads is still there, though the artifact could not be opened.
TEST(Failure, aRankThatHangsWhileItLoadsKeepsItsWeights) {
  ProgramBuilder p({{"tp", 2}});
  auto n = p.symbol("n", 0, 0), four = p.constant(4);
  auto x = p.input("x", Float32, {p.whole(n)});
  auto w = p.weight("w", Float32, {4}, {p.whole(four)},
                    bytesOf(std::vector<float>{1, 2, 3, 4}));
  auto copy = p.value(Float32, {four}, false, artifact::BufferKind_Persistent);
  auto sum = p.value(Float32, {four}, false, artifact::BufferKind_Persistent);
  p.load("TestSleep", {int32_t(w)}, {int32_t(copy)},
         {p.scalars("ms", {onRankOne(p, 3000)})});
  p.load("all_reduce", {int32_t(copy)}, {int32_t(sum)}, {p.text("kind", "sum")},
         p.group({{0, 1, 2}}), "/load");
  p.output("x", x, {p.whole(n)});
  p.output("sum", sum, {p.whole(four)});
  const int before = timesSlept;
  {
    TestArtifact artifact(p);
    SessionOptions options;
    options.timeout = std::chrono::milliseconds(100);
    std::unique_ptr<Session> session;
    Status status = Session::open(artifact.path(), options, session);
    EXPECT_NE(status.message().find("no longer answers"), std::string::npos)
        << status.message();
  }
  while (timesSlept < before + 2)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

TEST(Failure, aSlowRankThatComesBackLeavesTheSessionUsable) {
  TestArtifact artifact(unevenProgram("TestSleep", "ms", 1200, 2));
  SessionOptions options;
  options.timeout = std::chrono::milliseconds(800);
  OpenSession s(artifact, options);
  Floats x({1, 2}, {2});
  for (int round = 0; round < 2; ++round) {
    Status status = s.run({x.as("x")});
    EXPECT_EQ(status.code(), StatusCode::Artifact);
    EXPECT_EQ(status.message().find("no longer answers"), std::string::npos)
        << status.message();
  }
}

/// Binding a plan may take longer than any timeout, and is no hang; nor is what
/// the rank does right afterwards.
TEST(Failure, aRankThatPlansIsNotGivenUp) {
  ProgramBuilder p({{"tp", 2}});
  auto n = p.symbol("n", 0, 0), c = p.coordinate(0);
  auto x = p.input("x", Float32, {p.whole(n)});
  auto y = p.value(Float32, {n}), late = p.value(Float32, {n}),
       z = p.value(Float32, {n});
  p.run("TestPlanned", {int32_t(x)}, {int32_t(y)},
        {p.scalars("ms", {p.multiply(c, p.constant(800))})});
  p.run("TestSleep", {int32_t(y)}, {int32_t(late)},
        {p.scalars("ms", {p.multiply(c, p.constant(100))})});
  p.run("TestFail", {int32_t(late)}, {int32_t(z)},
        {p.scalars("fail",
                   {p.binary(artifact::ScalarOp_Subtract, p.constant(1), c)})});
  p.output("z", z, {p.whole(n)});
  TestArtifact artifact(p);
  SessionOptions options;
  options.timeout = std::chrono::milliseconds(400);
  OpenSession s(artifact, options);
  const Floats bad({-1, 2}, {2}), good({1, 2}, {2});
  const Status status = s.run({bad.as("x")});
  EXPECT_NE(status.message().find("failed on purpose"), std::string::npos)
      << status.message();
  EXPECT_FALSE(s.session->isLost()) << status.message();
  EXPECT_TRUE(s.run({good.as("x")}).isOk());
}

TEST(Failure, differingReplicasAreFound) {
  ProgramBuilder p({{"tp", 3}});
  auto n = p.symbol("n", 0, 0), c = p.coordinate(0);
  p.input("x", Float32, {p.whole(n)});
  auto y = p.value(Float32, {n}, /*replicated=*/true);
  p.run("TestFill", {}, {int32_t(y)}, {p.scalars("value", {c})}, -1, "/router");
  p.output("y", y, {p.whole(n)});
  TestArtifact artifact(p);
  Floats x({1, 2}, {2});
  SessionOptions options;
  EXPECT_TRUE(OpenSession(artifact, options).run({x.as("x")}).isOk());
  options.checkReplicas = true;
  Status status = OpenSession(artifact, options).run({x.as("x")});
  EXPECT_EQ(status.code(), StatusCode::Artifact);
  for (const char *part : {"/router", "TestFill", "1, 2"})
    EXPECT_NE(status.message().find(part), std::string::npos)
        << status.message();
}

TEST(Failure, badTimeoutInTheEnvironment) {
  ProgramBuilder p({{"tp", 1}});
  auto n = p.symbol("n", 0, 0);
  auto x = p.input("x", Float32, {p.whole(n)});
  p.output("y", x, {p.whole(n)});
  TestArtifact artifact(p);
  setenv("SHARDC_TIMEOUT", "soon", 1);
  std::unique_ptr<Session> session;
  Status status = Session::open(artifact.path(), {}, session);
  unsetenv("SHARDC_TIMEOUT");
  EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
}

} // namespace
} // namespace shardc::runtime
