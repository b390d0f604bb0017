//===- RequestErrorsTest.cpp - Errors end a request, not the session ------===//
#include "tests/unit/runtime/ProcessSessions.h"

namespace shardc::runtime {
namespace {

using namespace test;

/// 1 on rank 1, 0 on rank 0.
uint32_t onRankOne(ProgramBuilder &p, int64_t value = 1) {
  return p.multiply(p.coordinate(0), p.constant(value));
}

/// Two ranks; the second one's kernel fails where x begins with a negative
/// number, the sum over both comes after it.
ProgramBuilder failingProgram(const std::string &kernel) {
  ProgramBuilder p({{"tp", 2}});
  auto n = p.symbol("n", 0, 0);
  auto x = p.input("x", Float32, {p.whole(n)});
  auto y = p.value(Float32, {n});
  p.run(kernel, {int32_t(x)}, {int32_t(y)}, {p.scalars("fail", {onRankOne(p)})},
        -1, "/the/node");
  auto z = p.value(Float32, {n});
  p.run("all_reduce", {int32_t(y)}, {int32_t(z)}, {p.text("kind", "sum")},
        p.group({{0, 1, 2}}), "/mlp/down");
  p.output("z", z, {p.whole(n)});
  return p;
}

void expectErrorsAndRuns(OpenSession &s, const std::string &why) {
  const Floats bad({-1, 2}, {2}), good({1, 2}, {2});
  for (int round = 0; round < 20; ++round) {
    const Status status = s.run({bad.as("x")});
    EXPECT_EQ(status.code(), StatusCode::Artifact);
    EXPECT_NE(status.message().find(why), std::string::npos)
        << status.message();
    EXPECT_FALSE(s.session->isLost());
    const Status next = s.run({good.as("x")});
    ASSERT_TRUE(next.isOk()) << next.message();
    EXPECT_EQ(s.floats(0), (std::vector<float>{2, 4}));
  }
}

TEST(RequestErrors, endOneRequestOfProcesses) {
  TestArtifact artifact(failingProgram("TestFail"));
  onProcessSessions(artifact, 2, [](OpenSession &s) {
    expectErrorsAndRuns(s, "TestFail at node '/the/node' (instruction 0): "
                           "failed on purpose");
  });
}

/// Kernels do not throw, but what they call may.
TEST(RequestErrors, whatAKernelThrowsIsOne) {
  TestArtifact artifact(failingProgram("TestThrow"));
  OpenSession s(artifact);
  expectErrorsAndRuns(s, "rank 1: a kernel threw");
  onProcessSessions(artifact, 2, [](OpenSession &s) {
    expectErrorsAndRuns(s, "rank 1: a kernel threw");
  });
}

/// What weights are told to is its caller's.
TEST(RequestErrors, whatOnWeightThrowsIsOne) {
  ProgramBuilder p({{"tp", 2}});
  auto n = p.symbol("n", 0, 0), size = p.constant(4);
  p.input("x", Float32, {p.whole(n)});
  auto w = p.weight("w", Float32, {4}, {p.whole(size)},
                    bytesOf(std::vector<float>(4, 1)));
  auto y = p.value(Float32, {size});
  p.run("TestAdd", {int32_t(w), int32_t(w)}, {int32_t(y)});
  p.output("y", y, {p.whole(size)});
  TestArtifact artifact(p);
  SessionOptions options;
  options.onWeight = [](int, const std::string &) { throw 1; };
  std::unique_ptr<Session> session;
  const Status status = Session::open(artifact.path(), options, session);
  EXPECT_NE(status.message().find("onWeight threw"), std::string::npos)
      << status.message();
}

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

/// present = past | x, rows split over two ranks or, if `isWhole`, all of them
/// on both, so that nobody waits for rank 1, which sleeps some time; where x
/// begins with a negative number, it fails at last.
ProgramBuilder appendingProgram(bool isWhole) {
  ProgramBuilder p({{"tp", 2}});
  auto two = p.constant(2), one = p.constant(1), zero = p.constant(0);
  auto s = p.symbol("s", 0, 1), past = p.symbol("past", 1, 1);
  auto c = p.coordinate(0), room = p.capacity();
  auto rows = isWhole ? two : p.localSize(two, 2, c);
  auto total = p.binary(artifact::ScalarOp_Add, past, s);
  auto pastRoom = p.binary(artifact::ScalarOp_Maximum, past, room);
  auto totalRoom = p.binary(artifact::ScalarOp_Maximum, total, room);
  auto layout = isWhole ? p.whole(two) : p.split(two, 2, c);
  auto x = p.input("x", Float32, {layout, p.whole(s)});
  auto before = p.input("past", Float32, {layout, p.whole(past)});
  auto all = p.value(Float32, {rows, totalRoom});
  auto at = [&](uint32_t view, uint32_t size, uint32_t stride,
                uint32_t offset) {
    return int32_t(p.view(view, {rows, size}, {stride, one}, offset));
  };
  p.run("TestCopy", {at(before, past, pastRoom, zero)},
        {at(all, past, totalRoom, zero)});
  p.run("TestCopy", {int32_t(x)}, {at(all, s, totalRoom, past)});
  auto present = uint32_t(at(all, total, totalRoom, zero));
  auto dense = p.value(Float32, {rows, total});
  p.run("TestCopy", {int32_t(present)}, {int32_t(dense)});
  auto checked = p.value(Float32, {rows, s});
  p.run("TestCopy", {int32_t(x)}, {int32_t(checked)});
  auto slept = p.value(Float32, {rows, s}), y = p.value(Float32, {rows, s});
  p.run("TestSleep", {int32_t(checked)}, {int32_t(slept)},
        {p.scalars("ms", {onRankOne(p, isWhole ? 200 : 5)})});
  p.run("TestFail", {int32_t(slept)}, {int32_t(y)},
        {p.scalars("fail", {onRankOne(p)})}, -1, "/late");
  p.output("dense", dense, {layout, p.whole(total)});
  p.output("present", present, {layout, p.whole(total)});
  p.cache(1, before, 1, all, 1, {rows, pastRoom}, {rows, totalRoom});
  return p;
}

Floats block(int64_t count, float value) {
  return Floats(std::vector<float>(static_cast<size_t>(2 * count), value),
                {2, count});
}

Status runWith(OpenSession &s, State &state, const Floats &x) {
  const InputTensor inputs[] = {x.as("x")};
  return s.session->run(state, inputs, s.outputs);
}

void expectRow(const OpenSession &s, std::vector<float> row) {
  std::vector<float> both = row;
  both.insert(both.end(), row.begin(), row.end());
  EXPECT_EQ(s.floats(0), both);
}

/// Rank 0 has appended when rank 1 fails, and takes it back.
TEST(RequestErrors, leaveAStateAsItWas) {
  TestArtifact artifact(appendingProgram(/*isWhole=*/false));
  auto lead = [](OpenSession &s) {
    std::unique_ptr<State> state;
    ASSERT_TRUE(s.session->createState(8, state).isOk());
    ASSERT_TRUE(runWith(s, *state, block(2, 1)).isOk());
    for (int round = 0; round < 5; ++round) {
      const Status status = runWith(s, *state, block(2, -1));
      EXPECT_NE(status.message().find("failed on purpose"), std::string::npos)
          << status.message();
      // Also where rank 0 has only heard of it.
      EXPECT_EQ(status.place().rank, 1);
      EXPECT_EQ(status.place().stage, 0);
      EXPECT_GE(status.place().instruction, 0);
      EXPECT_EQ(status.place().kernel, "TestFail");
      EXPECT_EQ(status.place().node, "/late");
      EXPECT_EQ(state->length(), 2 + round);
      const Status next = runWith(s, *state, block(1, 3));
      ASSERT_TRUE(next.isOk()) << next.message();
      std::vector<float> expected{1, 1};
      expected.resize(3 + size_t(round), 3);
      expectRow(s, expected);
    }
  };
  OpenSession threads(artifact);
  lead(threads);
  onProcessSessions(artifact, 2, lead);
}

/// Rank 0 has all of the outputs, and says so; rank 1 fails later.
TEST(RequestErrors, thatComeTooLateTakeTheStateWithThem) {
  TestArtifact artifact(appendingProgram(/*isWhole=*/true));
  onProcessSessions(artifact, 2, [](OpenSession &s) {
    std::unique_ptr<State> state, other;
    ASSERT_TRUE(s.session->createState(8, state).isOk());
    ASSERT_TRUE(s.session->createState(8, other).isOk());
    ASSERT_TRUE(runWith(s, *state, block(2, -1)).isOk());
    std::this_thread::sleep_for(std::chrono::milliseconds(600));
    Status status = runWith(s, *state, block(1, 1));
    for (const char *part : {"state was lost", "failed on purpose", "reset it"})
      EXPECT_NE(status.message().find(part), std::string::npos)
          << status.message();
    EXPECT_EQ(status.place().rank, 1);
    EXPECT_EQ(status.place().node, "/late");
    status = runWith(s, *other, block(1, 4));
    ASSERT_TRUE(status.isOk()) << status.message();
    expectRow(s, {4});
    state->reset();
    status = runWith(s, *state, block(2, 5));
    ASSERT_TRUE(status.isOk()) << status.message();
    expectRow(s, {5, 5});
  });
}

} // namespace
} // namespace shardc::runtime
