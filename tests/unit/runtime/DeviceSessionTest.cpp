//===- DeviceSessionTest.cpp - Artifacts and the devices they need --------===//
#include "tests/unit/runtime/SessionFixture.h"

#include <cstdlib>
#include <numeric>
#include <unistd.h>

namespace shardc::runtime {
namespace {

using namespace test;

class DeviceSession : public testing::Test {
protected:
  void SetUp() override { setenv("SHARDC_BACKENDS", SHARDC_TEST_BACKENDS, 1); }

  /// y = kernel(x, x) on one rank.
  static ProgramBuilder program(const char *kernel) {
    ProgramBuilder p({{"tp", 1}});
    auto n = p.symbol("n", 0, 0);
    auto x = p.input("x", Float32, {p.whole(n)});
    auto y = p.value(Float32, {n});
    p.run(kernel, {int32_t(x), int32_t(x)}, {int32_t(y)});
    p.output("y", y, {p.whole(n)});
    return p;
  }
  static Status open(const TestArtifact &artifact, const std::string &device) {
    SessionOptions options;
    options.device = device;
    std::unique_ptr<Session> session;
    return Session::open(artifact.path(), options, session);
  }
  static void expectContains(const std::string &text, const std::string &part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
};

TEST_F(DeviceSession, runsOnTheDeviceThatWasAskedFor) {
  TestArtifact artifact(program("TestAdd"));
  SessionOptions options;
  options.device = "fake";
  OpenSession s(artifact, options);
  Floats x({1, 2, 3}, {3});
  for (int run = 0; run < 3; ++run) {
    Status status = s.run({x.as("x")});
    ASSERT_TRUE(status.isOk()) << status.message();
    EXPECT_EQ(s.floats(0), (std::vector<float>{2, 4, 6}));
  }
}

/// z = 4 x, in two launches.
ProgramBuilder twoLaunches() {
  ProgramBuilder twice({{"tp", 1}});
  auto n = twice.symbol("n", 0, 0);
  auto x = twice.input("x", Float32, {twice.whole(n)});
  auto y = twice.value(Float32, {n}), z = twice.value(Float32, {n});
  twice.run("TestAdd", {int32_t(x), int32_t(x)}, {int32_t(y)});
  twice.run("TestAdd", {int32_t(y), int32_t(y)}, {int32_t(z)});
  twice.output("z", z, {twice.whole(n)});
  return twice;
}

/// A session keeps four plans: each is plain once, then captured with the sizes
/// that it is bound to next, and from then on brought up to date.
TEST_F(DeviceSession, sizesThatComeOnceUpdateWhatWasCaptured) {
  TestArtifact artifact(twoLaunches());
  SessionOptions options;
  options.device = "fake";
  OpenSession s(artifact, options);
  for (int64_t n = 1; n <= 20; ++n) {
    Floats x(std::vector<float>(static_cast<size_t>(n)), {n});
    std::iota(x.values.begin(), x.values.end(), static_cast<float>(n));
    std::vector<float> expected;
    for (float value : x.values)
      expected.push_back(4 * value);
    for (int run = 0; run < (n == 17 ? 2 : 1); ++run) {
      Status status = s.run({x.as("x")});
      ASSERT_TRUE(status.isOk()) << status.message();
      EXPECT_EQ(s.floats(0), expected) << n;
    }
  }
  const LaunchStats launches = s.session->launchStats();
  EXPECT_EQ(launches.launched, 4);
  EXPECT_EQ(launches.captured, 4);
  EXPECT_EQ(launches.updated, 12);
  EXPECT_EQ(launches.replayed, 1);
}

TEST_F(DeviceSession, replaysTakeNoMoreOfTheDevicesMemory) {
  TestArtifact artifact(twoLaunches());
  SessionOptions options;
  options.device = "fake";
  OpenSession s(artifact, options);
  Floats values({1, 2, 3}, {3});
  for (int run = 0; run < 6; ++run) {
    if (run == 2)
      setenv("SHARDC_FAKE_MEMORY", "0", 1);
    Status status = s.run({values.as("x")});
    EXPECT_TRUE(status.isOk()) << status.message();
    EXPECT_EQ(s.floats(0), (std::vector<float>{4, 8, 12}));
  }
  unsetenv("SHARDC_FAKE_MEMORY");
  const LaunchStats launches = s.session->launchStats();
  EXPECT_EQ(launches.launched, 1);
  EXPECT_EQ(launches.captured, 1);
  EXPECT_EQ(launches.replayed, 4);
}

/// Of two stages, the second fails on negative numbers.
struct LinkedStages : TestArtifact {
  LinkedStages() : TestArtifact(first()) {
    manifest["mesh"] = {{{"name", "pp"}, {"size", 2}},
                        {{"name", "tp"}, {"size", 1}}};
    addProgram(second(), 1);
  }
  static ProgramBuilder first() {
    ProgramBuilder p({{"tp", 1}});
    auto n = p.symbol("n", 0, 0);
    auto x = p.input("x", Float32, {p.whole(n)});
    p.run("send", {int32_t(x)}, {},
          {p.ints("stage", {1}), p.ints("transfer", {0})}, -1, "/first");
    return p;
  }
  static ProgramBuilder second() {
    ProgramBuilder p({{"tp", 1}});
    auto n = p.symbol("n", 0, 0);
    p.input("x", Float32, {p.whole(n)});
    auto x = p.value(Float32, {n}), y = p.value(Float32, {n});
    p.run("receive", {}, {int32_t(x)},
          {p.ints("stage", {0}), p.ints("transfer", {0})}, -1, "/first");
    p.run("TestFail", {int32_t(x)}, {int32_t(y)}, {p.ints("fail", {1})}, -1,
          "/second");
    p.output("y", y, {p.whole(n)});
    return p;
  }
};

TEST_F(DeviceSession, linkedStagesGoOnAfterARunThatFailed) {
  const std::string simulated = SHARDC_TEST_BACKENDS "/../simulated";
  if (access((simulated + "/libshardrt_cuda.so").c_str(), R_OK) != 0)
    GTEST_SKIP() << "the CUDA plugin was left out of the build";
  setenv("SHARDC_BACKENDS", simulated.c_str(), 1);
  LinkedStages artifact;
  SessionOptions options;
  options.device = "cuda";
  OpenSession s(artifact, options);
  const Floats bad({-1, 2}, {2}), good({3, 4}, {2});
  for (int round = 0; round < 3; ++round) {
    // Of what the first stage has sent, some is never received, and nobody
    // waits for that: not even for a second.
    std::vector<InputTensor> inputs = {bad.as("x"), good.as("x"), good.as("x")};
    std::vector<std::vector<Tensor>> outputs(inputs.size());
    std::vector<Request> requests;
    for (size_t i = 0; i < inputs.size(); ++i) {
      outputs[i].resize(1);
      requests.push_back({{&inputs[i], 1}, outputs[i]});
    }
    expectContains(s.session->run(requests).message(), "/second");
    const Status status = s.run({good.as("x")});
    ASSERT_TRUE(status.isOk()) << status.message();
    EXPECT_EQ(s.floats(0), (std::vector<float>{3, 4}));
  }
}

TEST_F(DeviceSession, theManifestNamesTheDevice) {
  TestArtifact artifact(program("TestAdd"));
  artifact.manifest["target"] = "nowhere";
  artifact.writeManifest();
  unsetenv("SHARDC_DEVICE");
  expectContains(open(artifact, "").message(), "there is no backend 'nowhere'");
  // What the user says counts more.
  EXPECT_TRUE(open(artifact, "host").isOk());
  EXPECT_TRUE(open(artifact, "fake").isOk());
}

TEST_F(DeviceSession, kernelsThatTheDeviceHasNotRunOnTheHost) {
  TestArtifact artifact(program("TestAdd"));
  SessionOptions options;
  options.device = "fake";
  setenv("SHARDC_FAKE_LACKS", "TestAdd", 1);
  OpenSession s(artifact, options);
  EXPECT_EQ(s.session->hostKernels(), std::vector<std::string>{"TestAdd"});
  Floats x({1, 2, 3}, {3});
  for (int run = 0; run < 3; ++run) {
    Status status = s.run({x.as("x")});
    ASSERT_TRUE(status.isOk()) << status.message();
    EXPECT_EQ(s.floats(0), (std::vector<float>{2, 4, 6}));
  }
  unsetenv("SHARDC_FAKE_LACKS");
}

TEST_F(DeviceSession, kernelsThatNobodyHasAreNamed) {
  TestArtifact artifact(program("TestNowhere"));
  Status status = open(artifact, "fake");
  EXPECT_EQ(status.code(), StatusCode::Artifact);
  expectContains(status.message(),
                 "this runtime has no kernel TestNowhere; use "
                 "the runtime that came with the compiler");
}

TEST_F(DeviceSession, aPreflightLoadsNothing) {
  TestArtifact artifact(program("TestAdd"));
  SessionOptions options;
  options.preflight = true;
  for (const char *device : {"host", "fake"}) {
    options.device = device;
    std::unique_ptr<Session> session;
    Status status = Session::open(artifact.path(), options, session);
    ASSERT_TRUE(status.isOk()) << status.message();
    ASSERT_EQ(session->placement().size(), 1u);
    expectContains(session->placement()[0], "rank 0");
    expectContains(session->placement()[0], "0 bytes of ");
    expectContains(session->placement()[0], "weights");
  }
}

} // namespace
} // namespace shardc::runtime
