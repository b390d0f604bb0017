//===- StateTest.cpp - Caches that stay between runs ----------------------===//
#include "runtime/api/shardrt.h"
#include "runtime/session/Processes.h"
#include "tests/unit/runtime/FakeProcesses.h"
#include "tests/unit/runtime/SessionFixture.h"

#include <thread>

namespace shardc::runtime {
namespace {

using namespace test;

/// present = past | x along dim 1, rows split over tp; y = present + present.
/// What an artifact may claim that no compiler writes: that past is in
/// `tooLarge` times as much memory, and that a cache has no room to grow.
ProgramBuilder appending(int64_t ways, int64_t tooLarge = 1,
                         bool hasRoom = true) {
  ProgramBuilder p({{"tp", ways}});
  auto four = p.constant(4), one = p.constant(1), zero = p.constant(0);
  auto s = p.symbol("s", 0, 1), past = p.symbol("past", 1, 1);
  auto c = p.coordinate(0), rows = p.localSize(four, ways, c);
  auto room = hasRoom ? p.capacity() : zero;
  auto total = p.binary(artifact::ScalarOp_Add, past, s);
  auto pastRoom = p.binary(artifact::ScalarOp_Maximum, past, room);
  auto totalRoom = p.binary(artifact::ScalarOp_Maximum, total, room);
  auto split = p.split(four, ways, c);
  auto x = p.input("x", Float32, {split, p.whole(s)});
  auto before = p.input("past", Float32, {split, p.whole(past)});
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
  auto y = p.value(Float32, {rows, total});
  p.run("TestAdd", {int32_t(dense), int32_t(dense)}, {int32_t(y)});
  p.output("y", y, {split, p.whole(total)});
  p.output("present", present, {split, p.whole(total)});
  p.cache(1, before, 1, all, 1,
          {p.multiply(rows, p.constant(tooLarge)), pastRoom},
          {rows, totalRoom});
  return p;
}

/// Four rows of `count` times `value`.
Floats block(int64_t count, float value) {
  return Floats(std::vector<float>(static_cast<size_t>(4 * count), value),
                {4, count});
}

void expectRow(const OpenSession &s, std::vector<float> row) {
  std::vector<float> all;
  for (int i = 0; i < 4; ++i)
    all.insert(all.end(), row.begin(), row.end());
  EXPECT_EQ(s.floats(0), all);
}

TEST(State, appendsAndForks) {
  for (int64_t ways : {1, 2, 3}) {
    TestArtifact artifact(appending(ways));
    OpenSession s(artifact);
    std::unique_ptr<State> state, fork;
    ASSERT_TRUE(s.session->createState(4, state).isOk());
    ASSERT_EQ(s.session->caches().size(), 1u);
    auto run = [&](State &into, const Floats &x) {
      const InputTensor inputs[] = {x.as("x")};
      return s.session->run(into, inputs, s.outputs);
    };
    ASSERT_TRUE(run(*state, block(2, 1)).isOk());
    expectRow(s, {2, 2});
    ASSERT_TRUE(state->fork(fork).isOk());
    ASSERT_TRUE(run(*state, block(1, 2)).isOk());
    expectRow(s, {2, 2, 4});
    ASSERT_TRUE(run(*fork, block(2, 3)).isOk());
    expectRow(s, {2, 2, 6, 6});
    EXPECT_EQ(state->length(), 3);
    Status full = run(*state, block(2, 5));
    EXPECT_EQ(full.code(), StatusCode::InvalidArgument);
    EXPECT_NE(full.message().find("holds 4 positions, 3 are taken and 2 more"),
              std::string::npos)
        << full.message();
    ASSERT_TRUE(run(*state, block(1, 5)).isOk()) << "it is as before";
    expectRow(s, {2, 2, 4, 10});
    state->reset();
    EXPECT_EQ(state->length(), 0);
    ASSERT_TRUE(run(*state, block(1, 7)).isOk());
    expectRow(s, {14});
  }
}

TEST(State, withoutItPastComesFromOutside) {
  TestArtifact artifact(appending(2));
  OpenSession s(artifact);
  Floats x = block(1, 1), past = block(2, 3);
  ASSERT_TRUE(s.run({x.as("x"), past.as("past")}).isOk());
  expectRow(s, {6, 6, 2});
  EXPECT_EQ(s.floats(1)[2], 1);
  std::unique_ptr<State> state;
  ASSERT_TRUE(s.session->createState(8, state).isOk());
  const InputTensor both[] = {x.as("x"), past.as("past")};
  Status status = s.session->run(*state, both, s.outputs);
  EXPECT_NE(status.message().find("'past' is kept by the state"),
            std::string::npos)
      << status.message();
}

/// Not that of an earlier run without one.
TEST(State, ofWhatItKeepsThereIsNoOutputInC) {
  TestArtifact artifact(appending(2));
  shardrt_session *session = nullptr;
  shardrt_state *state = nullptr;
  ASSERT_EQ(shardrt_open(artifact.path().c_str(), nullptr, &session),
            SHARDRT_OK)
      << shardrt_last_error();
  ASSERT_EQ(shardrt_state_create(session, 8, &state), SHARDRT_OK);
  const Floats x = block(1, 1), past = block(2, 3);
  auto tensorOf = [](const char *name, const Floats &from) {
    return shardrt_tensor{name, SHARDRT_FLOAT32, 2, from.dims.data(),
                          from.values.data()};
  };
  const shardrt_tensor inputs[] = {tensorOf("x", x), tensorOf("past", past)};
  shardrt_tensor output;
  ASSERT_EQ(shardrt_run(session, inputs, 2), SHARDRT_OK);
  EXPECT_EQ(shardrt_output(session, 1, &output), SHARDRT_OK);
  ASSERT_EQ(shardrt_run_state(session, state, inputs, 1), SHARDRT_OK)
      << shardrt_last_error();
  EXPECT_EQ(shardrt_output(session, 0, &output), SHARDRT_OK);
  EXPECT_EQ(shardrt_output(session, 1, &output), SHARDRT_INVALID_ARGUMENT);
  EXPECT_NE(std::string(shardrt_last_error()).find("'present'"),
            std::string::npos)
      << shardrt_last_error();
  ASSERT_EQ(shardrt_run(session, inputs, 2), SHARDRT_OK);
  EXPECT_EQ(shardrt_output(session, 1, &output), SHARDRT_OK);
  shardrt_state_destroy(state);
  shardrt_close(session);
}

TEST(State, pastMustFitIntoTheCache) {
  TestArtifact artifact(appending(2, /*tooLarge=*/3));
  OpenSession s(artifact);
  std::unique_ptr<State> state;
  ASSERT_TRUE(s.session->createState(4, state).isOk());
  Floats x = block(2, 1);
  const InputTensor inputs[] = {x.as("x")};
  Status status = s.session->run(*state, inputs, s.outputs);
  EXPECT_EQ(status.code(), StatusCode::Artifact);
  // Of either rank: both find out.
  EXPECT_NE(status.message().find("'past' is said to have 96 bytes on rank "),
            std::string::npos)
      << status.message();
  EXPECT_NE(
      status.message().find(", the cache has 32; the artifact is damaged"),
      std::string::npos)
      << status.message();
}

TEST(State, plansAreNotTakenForRunsWithout) {
  TestArtifact artifact(appending(2, 1, /*hasRoom=*/false));
  OpenSession s(artifact);
  std::unique_ptr<State> state;
  ASSERT_TRUE(s.session->createState(2, state).isOk());
  Floats x = block(2, 1), past = block(0, 0);
  const InputTensor inputs[] = {x.as("x")};
  ASSERT_TRUE(s.session->run(*state, inputs, s.outputs).isOk());
  ASSERT_TRUE(s.run({x.as("x"), past.as("past")}).isOk());
  expectRow(s, {2, 2});
}

/// What is wrong with a request is its caller's to know; the state stays.
TEST(State, ofProcessesThatFollow) {
  TestArtifact artifact(appending(2));
  std::vector<std::thread> threads;
  for (const ProcessPlace &place : placesOnThisMachine(2))
    threads.emplace_back([&, place] {
      using namespace std::chrono_literals;
      std::unique_ptr<Processes> processes;
      ASSERT_TRUE(Processes::join({place, 10s}, processes).isOk());
      SessionOptions options;
      options.processes = processes.get();
      // More sessions than messages may be on the way that nobody takes.
      std::unique_ptr<Session> session;
      for (int unheard = 0; unheard < 6; ++unheard) {
        session.reset();
        ASSERT_TRUE(Session::open(artifact.path(), options, session).isOk());
      }
      if (place.rank == 1) {
        const Status status = session->follow();
        EXPECT_TRUE(status.isOk()) << status.message();
        EXPECT_EQ(session->followedMemory().size(), 1u);
        return;
      }
      std::unique_ptr<State> state, copy;
      ASSERT_TRUE(session->createState(4, state).isOk());
      const Floats x = block(2, 1);
      const InputTensor good = x.as("x");
      InputTensor noData = good, otherType = good, tooManyDims = good;
      noData.data = nullptr;
      otherType.element = artifact::ElementType_Int32;
      const int64_t dims[] = {-1, -8};
      tooManyDims.dims = dims;
      std::vector<Tensor> outputs(2);
      for (const std::vector<InputTensor> &bad :
           std::vector<std::vector<InputTensor>>{{},
                                                 {noData},
                                                 {otherType},
                                                 {tooManyDims},
                                                 {good, good},
                                                 {good, x.as("past")}})
        EXPECT_EQ(session->run(*state, bad, outputs).code(),
                  StatusCode::InvalidArgument);
      for (int round = 0; round < 2; ++round) {
        const Status status = session->run(*state, {&good, 1}, outputs);
        ASSERT_TRUE(status.isOk()) << status.message();
      }
      EXPECT_EQ(outputs[0].dims()[1], 4);
      ASSERT_TRUE(state->fork(copy).isOk());
      copy->reset();
      ASSERT_TRUE(session->run(*copy, {&good, 1}, outputs).isOk());
      EXPECT_EQ(outputs[0].dims()[1], 2);
      copy.reset();
      state.reset();
      session.reset();
      EXPECT_TRUE(processes->conclude(Status::ok()).isOk());
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST(State, throughTheCApi) {
  TestArtifact artifact(appending(2));
  shardrt_session *session = nullptr;
  ASSERT_EQ(shardrt_open(artifact.path().c_str(), nullptr, &session),
            SHARDRT_OK);
  shardrt_state *state = nullptr, *copy = nullptr;
  for (int32_t replica : {-1, 1}) // there is one
    EXPECT_EQ(shardrt_state_create_on(session, 3, replica, &state),
              SHARDRT_INVALID_ARGUMENT);
  ASSERT_EQ(shardrt_state_create_on(session, 3, 0, &state), SHARDRT_OK);
  shardrt_state_destroy(state);
  ASSERT_EQ(shardrt_state_create(session, 3, &state), SHARDRT_OK);
  Floats x = block(2, 1);
  shardrt_tensor input{"x", SHARDRT_FLOAT32, 2, x.dims.data(), x.values.data()};
  ASSERT_EQ(shardrt_run_state(session, state, &input, 1), SHARDRT_OK)
      << shardrt_last_error();
  ASSERT_EQ(shardrt_state_fork(state, &copy), SHARDRT_OK);
  EXPECT_EQ(shardrt_run_state(session, copy, &input, 1),
            SHARDRT_INVALID_ARGUMENT);
  EXPECT_EQ(shardrt_state_length(copy), 2);
  shardrt_state_reset(copy);
  EXPECT_EQ(shardrt_run_state(session, copy, &input, 1), SHARDRT_OK);
  EXPECT_EQ(shardrt_state_capacity(state), 3);
  ASSERT_EQ(shardrt_state_num_ranks(state), 2u);
  for (int32_t number = 0; number < 2; ++number) {
    int32_t rank = -1;
    int64_t committed = 0, reserved = 0;
    ASSERT_EQ(shardrt_state_memory(state, size_t(number), &rank, &committed,
                                   &reserved),
              SHARDRT_OK);
    EXPECT_EQ(rank, number);
    EXPECT_EQ(reserved, 2 * 3 * 4); // two of four rows
    EXPECT_GE(committed, reserved);
    EXPECT_EQ(shardrt_state_memory(state, 2, &rank, &committed, &reserved),
              SHARDRT_INVALID_ARGUMENT);
    EXPECT_EQ(shardrt_state_memory(state, 0, &rank, nullptr, &reserved),
              SHARDRT_INVALID_ARGUMENT);
  }
  EXPECT_EQ(shardrt_state_check(state), SHARDRT_OK);
  EXPECT_EQ(shardrt_state_check(nullptr), SHARDRT_INVALID_ARGUMENT);
  ASSERT_EQ(shardrt_reopen(session), SHARDRT_OK);
  EXPECT_EQ(shardrt_state_check(state), SHARDRT_INVALID_ARGUMENT);
  const std::string why = shardrt_last_error();
  EXPECT_EQ(shardrt_run_state(session, state, &input, 1),
            SHARDRT_INVALID_ARGUMENT);
  EXPECT_EQ(shardrt_last_error(), why);
  shardrt_state_destroy(copy);
  shardrt_state_destroy(state);
  shardrt_close(session);
}

} // namespace
} // namespace shardc::runtime
