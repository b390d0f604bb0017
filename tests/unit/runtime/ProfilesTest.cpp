//===- ProfilesTest.cpp - Which program runs, and what programs share -----===//
#include "tests/unit/runtime/SessionFixture.h"

#include <cstdlib>

namespace shardc::runtime {
namespace {

using namespace test;

/// w + w, a loaded value of 2 rows.
uint32_t loadedTwice(ProgramBuilder &p, uint32_t two) {
  auto w = p.weight("w", Float32, {2, 2}, {p.whole(two), p.whole(two)},
                    bytesOf(std::vector<float>{1, 2, 3, 4}));
  auto twice =
      p.value(Float32, {two, two}, false, artifact::BufferKind_Persistent);
  p.load("TestAdd", {int32_t(w), int32_t(w)}, {int32_t(twice)});
  return twice;
}

/// y = w + w + x, or x + x + x for `isStep`: x is [n, 2].
ProgramBuilder profile(bool isStep) {
  ProgramBuilder p({{"tp", 2}});
  auto n = p.symbol("n", 0, 0), two = p.constant(2), one = p.constant(1);
  auto x = p.input("x", Float32, {p.whole(n), p.whole(two)});
  auto twice = loadedTwice(p, two);
  auto y = p.value(Float32, {n, two});
  auto rows = p.view(twice, {n, two}, {two, one}, p.constant(0));
  auto other = isStep ? p.value(Float32, {n, two}) : rows;
  if (isStep)
    p.run("TestAdd", {int32_t(x), int32_t(x)}, {int32_t(other)});
  p.run("TestAdd", {int32_t(x), int32_t(other)}, {int32_t(y)});
  p.output("y", y, {p.whole(n), p.whole(two)});
  if (isStep)
    p.sizeCondition(0, 0, 1);
  return p;
}

TEST(Profiles, theFirstWhoseSizesFitIsRun) {
  TestArtifact artifact(profile(/*isStep=*/true));
  artifact.addProgram(profile(/*isStep=*/false));
  OpenSession s(artifact);
  for (int repeat = 0; repeat < 2; ++repeat) {
    ASSERT_TRUE(s.run({Floats({5, 7}, {1, 2}).as("x")}).isOk());
    EXPECT_EQ(s.floats(0), (std::vector<float>{15, 21}));
    ASSERT_TRUE(s.run({Floats({5, 7, 6, 8}, {2, 2}).as("x")}).isOk());
    EXPECT_EQ(s.floats(0), (std::vector<float>{7, 11, 12, 16}));
    ASSERT_TRUE(s.run({Floats({}, {0, 2}).as("x")}).isOk());
    EXPECT_EQ(s.floats(0), std::vector<float>());
  }
}

TEST(Profiles, requestsThatNoneIsForSayIt) {
  TestArtifact artifact(profile(/*isStep=*/true));
  OpenSession s(artifact);
  EXPECT_TRUE(s.run({Floats({5, 7}, {1, 2}).as("x")}).isOk());
  Status status = s.run({Floats({5, 7, 6, 8}, {2, 2}).as("x")});
  EXPECT_EQ(status.code(), StatusCode::Artifact);
  EXPECT_NE(status.message().find("no profile"), std::string::npos);
}

TEST(Profiles, loadedValuesAreKeptOnce) {
  TestArtifact one(profile(false)), both(profile(false));
  both.addProgram(profile(false));
  OpenSession alone(one), shared(both);
  const RankMemory expected = alone.session->rankMemory()[1];
  const RankMemory found = shared.session->rankMemory()[1];
  EXPECT_EQ(expected.loadedBytes, 16);
  EXPECT_EQ(found.loadedBytes, 16);
  EXPECT_EQ(found.weightBytes, expected.weightBytes);
}

TEST(Profiles, loadedValuesThatNoRunReadsGo) {
  TestArtifact artifact(profile(/*isStep=*/true));
  OpenSession s(artifact);
  EXPECT_EQ(s.session->rankMemory()[1].loadedBytes, 0);
  ASSERT_TRUE(s.run({Floats({5, 7}, {1, 2}).as("x")}).isOk());
  EXPECT_EQ(s.floats(0), (std::vector<float>{15, 21}));
}

/// y = x (w + w), for a step of its transpose; `adds`: and + w + w.
ProgramBuilder productProfile(bool isStep, bool adds = false) {
  ProgramBuilder p({{"tp", 2}});
  auto n = p.symbol("n", 0, 0), two = p.constant(2), one = p.constant(1);
  auto x = p.input("x", Float32, {p.whole(n), p.whole(two)});
  auto twice = loadedTwice(p, two);
  auto turned = p.view(twice, {two, two}, {one, two}, p.constant(0));
  auto product = p.value(Float32, {n, two}), y = product;
  p.run("MatMul", {int32_t(x), int32_t(isStep ? turned : twice)},
        {int32_t(product)});
  if (adds) {
    y = p.value(Float32, {n, two});
    auto rows = p.view(twice, {n, two}, {two, one}, p.constant(0));
    p.run("TestAdd", {int32_t(product), int32_t(rows)}, {int32_t(y)});
  }
  p.output("y", y, {p.whole(n), p.whole(two)});
  if (isStep)
    p.sizeCondition(0, 0, 1);
  return p;
}

TEST(Profiles, loadedValuesThatArePackedGo) {
  TestArtifact artifact(productProfile(/*isStep=*/true));
  artifact.addProgram(productProfile(/*isStep=*/false));
  OpenSession s(artifact);
  for (int repeat = 0; repeat < 2; ++repeat) {
    ASSERT_TRUE(s.run({Floats({1, 10}, {1, 2}).as("x")}).isOk());
    EXPECT_EQ(s.floats(0), (std::vector<float>{42, 86}));
    ASSERT_TRUE(s.run({Floats({1, 10, 0, 1}, {2, 2}).as("x")}).isOk());
    EXPECT_EQ(s.floats(0), (std::vector<float>{62, 84, 6, 8}));
  }
  const RankMemory memory = s.session->rankMemory()[1];
  // Both matrices, of panels of 16 columns; devices do not pack.
  const bool isHost = !std::getenv("SHARDC_DEVICE");
  EXPECT_EQ(memory.loadedBytes, isHost ? 0 : 16);
  EXPECT_EQ(memory.arrangedBytes, isHost ? 2 * 2 * 16 * 4 : 0);
}

/// Whichever program comes first.
TEST(Profiles, loadedValuesThatAreReadStay) {
  for (bool isFirst : {true, false}) {
    TestArtifact artifact(productProfile(/*isStep=*/true, /*adds=*/isFirst));
    artifact.addProgram(productProfile(/*isStep=*/false, /*adds=*/!isFirst));
    OpenSession s(artifact);
    EXPECT_EQ(s.session->rankMemory()[1].loadedBytes, 16);
    ASSERT_TRUE(s.run({Floats({1, 10}, {1, 2}).as("x")}).isOk());
    EXPECT_EQ(s.floats(0), isFirst ? (std::vector<float>{44, 90})
                                   : (std::vector<float>{42, 86}));
    ASSERT_TRUE(s.run({Floats({1, 10, 0, 1}, {2, 2}).as("x")}).isOk());
    EXPECT_EQ(s.floats(0), isFirst ? (std::vector<float>{62, 84, 6, 8})
                                   : (std::vector<float>{64, 88, 12, 16}));
  }
}

TEST(Profiles, conditionsOnDimsThatThereAreNot) {
  for (auto [input, dim, size] :
       {std::array<int64_t, 3>{1, 0, 1}, {0, 2, 1}, {0, 0, -1}}) {
    ProgramBuilder p = profile(false);
    p.sizeCondition(static_cast<uint32_t>(input), static_cast<int32_t>(dim),
                    size);
    TestArtifact artifact(p);
    std::unique_ptr<Session> session;
    Status status = Session::open(artifact.path(), {}, session);
    EXPECT_EQ(status.code(), StatusCode::Artifact);
    EXPECT_NE(status.message().find("a condition is on"), std::string::npos)
        << status.message();
  }
}

} // namespace
} // namespace shardc::runtime
