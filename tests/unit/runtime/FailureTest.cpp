//===- FailureTest.cpp - Errors and hangs end every rank ------------------===//
#include "tests/unit/runtime/SessionFixture.h"

#include <chrono>

namespace shardc::runtime {
namespace {

using namespace test;

/// The kernel gets an attribute that only rank `where` has; then an all_reduce
/// of `n` floats.
ProgramBuilder unevenProgram(const std::string &kernel, const std::string &name,
                             int64_t value, int64_t ways) {
  ProgramBuilder p({{"tp", ways}});
  auto n = p.symbol("n", 0, 0), c = p.coordinate(0);
  auto x = p.input("x", Float32, {p.whole(n)});
  auto y = p.value(Float32, {n});
  // value on rank 1, 0 on all others.
  auto one = p.constant(1);
  auto above =
      p.binary(artifact::ScalarOp_Maximum,
               p.binary(artifact::ScalarOp_Subtract, c, one), p.constant(0));
  auto isOne = p.binary(artifact::ScalarOp_Maximum,
                        p.binary(artifact::ScalarOp_Subtract,
                                 p.binary(artifact::ScalarOp_Minimum, c, one),
                                 p.multiply(above, p.constant(2))),
                        p.constant(0));
  p.run(kernel, {int32_t(x)}, {int32_t(y)},
        {p.scalars(name, {p.multiply(isOne, p.constant(value))})}, -1,
        "/slow/node");
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
  static const Floats x({1, 2}, {2}); // the sleeper still reads it later
  Status status = s.run({x.as("x")});
  EXPECT_EQ(status.code(), StatusCode::Artifact);
  for (const char *part : {"all_reduce", "/mlp/down", "missing: rank 1",
                           "TestSleep", "/slow/node", "--timeout"})
    EXPECT_NE(status.message().find(part), std::string::npos)
        << status.message();
  EXPECT_NE(status.message().find("no longer answers"), std::string::npos);
  EXPECT_FALSE(s.run({x.as("x")}).isOk());
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
