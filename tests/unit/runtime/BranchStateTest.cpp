//===- BranchStateTest.cpp - One state for several programs ---------------===//
#include "tests/unit/runtime/SessionFixture.h"

namespace shardc::runtime {
namespace {

using namespace test;

constexpr uint32_t kPastSelf = 2, kPastCross = 3;

/// The branches of a decoder, two rows split over tp:
///
///   prompt  self = x         cross = encoder
///   step    self = past | x  cross = past       y = self | cross, doubled
struct Branch : ProgramBuilder {
  Branch(bool isStep, int64_t ways) : ProgramBuilder({{"tp", ways}}) {
    condition(0, isStep);
    input("use_cache", artifact::ElementType_Bool, {whole(one)});
    auto x = input("x", Float32, {rows, whole(s)});
    auto pastSelf = input("past.self", Float32, {rows, whole(p)});
    auto pastCross = input("past.cross", Float32, {rows, whole(q)});
    auto encoder = input("encoder", Float32, {rows, whole(e)});
    auto total = isStep ? binary(artifact::ScalarOp_Add, p, s) : s;
    auto room = binary(artifact::ScalarOp_Maximum, total, capacitySize);
    auto self = value(Float32, {local, room});
    auto selfView = window(self, total, room, zero);
    uint32_t cross = pastCross, crossSize = q;
    if (isStep) {
      auto pastRoom = binary(artifact::ScalarOp_Maximum, p, capacitySize);
      run("TestCopy", {window(pastSelf, p, pastRoom, zero)},
          {window(self, p, room, zero)});
      run("TestCopy", {int32_t(x)}, {window(self, s, room, p)});
      cache(kPastSelf, pastSelf, 1, self, 1, {local, pastRoom}, {local, room});
      keepCache(kPastCross, 2);
    } else {
      run("TestCopy", {int32_t(x)}, {selfView});
      crossSize = e;
      cross = value(Float32, {local, e});
      run("TestCopy", {int32_t(encoder)}, {int32_t(cross)});
      setCache(kPastSelf, 1, self, 1, {local, room});
      setCache(kPastCross, 2, cross, -1, {local, e});
    }
    auto width = binary(artifact::ScalarOp_Add, total, crossSize);
    auto both = value(Float32, {local, width});
    run("TestCopy", {selfView}, {window(both, total, width, zero)});
    run("TestCopy", {int32_t(cross)}, {window(both, crossSize, width, total)});
    auto y = value(Float32, {local, width});
    run("TestAdd", {int32_t(both), int32_t(both)}, {int32_t(y)});
    output("y", y, {rows, whole(width)});
    output("present.self", uint32_t(selfView), {rows, whole(total)});
    output("present.cross", cross, {rows, whole(crossSize)});
  }

  /// Columns [offset, offset + size) of rows that are `stride` apart.
  int32_t window(uint32_t of, uint32_t size, uint32_t stride, uint32_t offset) {
    return int32_t(view(of, {local, size}, {stride, one}, offset));
  }

  uint32_t one = constant(1), two = constant(2), zero = constant(0);
  uint32_t s = symbol("s", 1, 1), p = symbol("past", kPastSelf, 1);
  uint32_t q = symbol("q", kPastCross, 1), e = symbol("e", 4, 1);
  uint32_t tp = coordinate(0);
  int64_t ways = axes[0].second;
  uint32_t local = localSize(two, ways, tp);
  Layout rows = split(two, ways, tp);
  uint32_t capacitySize = capacity();
};

class BranchState : public testing::TestWithParam<int64_t> {
protected:
  void SetUp() override {
    artifact.addProgram(Branch(/*isStep=*/true, GetParam()));
    session = std::make_unique<OpenSession>(artifact);
    ASSERT_TRUE(session->session->createState(4, state).isOk());
  }

  Floats block(int64_t count, float value) {
    return Floats(std::vector<float>(static_cast<size_t>(2 * count), value),
                  {2, count});
  }
  Status run(State &into, bool useCache, const Floats &x,
             const Floats &encoder) {
    const int64_t one[] = {1};
    const InputTensor inputs[] = {
        {"use_cache", artifact::ElementType_Bool, one, &useCache},
        x.as("x"),
        encoder.as("encoder")};
    return session->session->run(into, inputs, session->outputs);
  }
  void expectRow(const std::vector<float> &row) {
    std::vector<float> both = row;
    both.insert(both.end(), row.begin(), row.end());
    EXPECT_EQ(session->floats(0), both);
  }

  TestArtifact artifact{Branch(/*isStep=*/false, GetParam())};
  std::unique_ptr<OpenSession> session;
  std::unique_ptr<State> state, fork;
};

TEST_P(BranchState, stepsGoOnFromThePrompt) {
  ASSERT_TRUE(run(*state, false, block(2, 1), block(3, 5)).isOk());
  expectRow({2, 2, 10, 10, 10});
  ASSERT_TRUE(state->fork(fork).isOk());
  ASSERT_TRUE(run(*state, true, block(1, 2), block(0, 0)).isOk());
  expectRow({2, 2, 4, 10, 10, 10});
  EXPECT_EQ(state->length(), 3) << "the cache that does not grow is longer";
  ASSERT_TRUE(run(*fork, true, block(2, 3), block(0, 0)).isOk());
  expectRow({2, 2, 6, 6, 10, 10, 10});
  Status full = run(*state, true, block(2, 2), block(0, 0));
  EXPECT_EQ(full.code(), StatusCode::InvalidArgument);
  ASSERT_TRUE(run(*state, true, block(1, 4), block(0, 0)).isOk());
  expectRow({2, 2, 4, 8, 10, 10, 10});
  // A prompt starts anew, longer or shorter, with another encoder's keys.
  ASSERT_TRUE(run(*state, false, block(1, 7), block(1, 6)).isOk());
  expectRow({14, 12});
  ASSERT_TRUE(run(*state, true, block(1, 8), block(0, 0)).isOk());
  expectRow({14, 16, 12});
  full = run(*state, false, block(5, 1), block(1, 6));
  EXPECT_NE(full.message().find("holds 4 positions"), std::string::npos);
  ASSERT_TRUE(run(*state, true, block(1, 9), block(0, 0)).isOk());
  expectRow({14, 16, 18, 12});
}

TEST_P(BranchState, aStepNeedsWhatThePromptComputes) {
  Status early = run(*state, true, block(1, 1), block(0, 0));
  EXPECT_EQ(early.code(), StatusCode::InvalidArgument);
  EXPECT_NE(early.message().find("nothing yet for input 'past.cross'"),
            std::string::npos)
      << early.message();
}

TEST_P(BranchState, withoutAStateThePastComesFromOutside) {
  Floats x = block(1, 1), self = block(1, 2), cross = block(2, 3);
  Floats encoder = block(0, 0);
  const int64_t one[] = {1};
  bool useCache = true;
  ASSERT_TRUE(
      session
          ->run({{"use_cache", artifact::ElementType_Bool, one, &useCache},
                 x.as("x"),
                 self.as("past.self"),
                 cross.as("past.cross"),
                 encoder.as("encoder")})
          .isOk());
  expectRow({4, 2, 6, 6});
  EXPECT_EQ(session->floats(2), std::vector<float>(4, 3));
}

INSTANTIATE_TEST_SUITE_P(Ways, BranchState, testing::Values(1, 2, 3));

TEST(BranchStates, mustHaveTheSameCaches) {
  TestArtifact artifact{Branch(false, 1)};
  Branch other(true, 1);
  other.keepCache(4, 0);
  artifact.addProgram(other);
  std::unique_ptr<Session> session;
  Status status = Session::open(artifact.path(), {}, session);
  EXPECT_NE(status.message().find("its programs keep different caches"),
            std::string::npos)
      << status.message();
}

TEST(BranchStates, whatIsSetIsNotRead) {
  Branch prompt(false, 1);
  auto y = prompt.value(Float32, {prompt.local, prompt.p});
  prompt.run("TestCopy", {prompt.window(2, prompt.p, prompt.p, prompt.zero)},
             {int32_t(y)});
  TestArtifact artifact{prompt};
  std::unique_ptr<Session> session;
  Status status = Session::open(artifact.path(), {}, session);
  EXPECT_NE(status.message().find("'past.self' does not fit its output"),
            std::string::npos)
      << status.message();
}

} // namespace
} // namespace shardc::runtime
