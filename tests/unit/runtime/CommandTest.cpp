//===- CommandTest.cpp - What rank 0 says, and the others do --------------===//
#include "runtime/session/Command.h"

#include "runtime/session/CommandStream.h"
#include "runtime/session/Processes.h"
#include "tests/unit/runtime/FakeProcesses.h"
#include "tests/unit/runtime/SessionFixture.h"

#include <numeric>
#include <random>

namespace shardc::runtime {
namespace {

using namespace std::chrono_literals;
using namespace test;

Command twoRequests() {
  Command command;
  command.requests = {
      {{2, artifact::ElementType_Int64, {1, 5}}, {0, Float32, {}}},
      {{1, Float32, {0, 7}}}};
  return command;
}

TEST(Command, isWhatWasEncoded) {
  std::vector<int64_t> words;
  append(twoRequests(), words);
  Command command;
  ASSERT_TRUE(decode(words, command).isOk());
  EXPECT_EQ(command.kind, Command::Kind::Run);
  ASSERT_EQ(command.requests.size(), 2u);
  EXPECT_TRUE(command.states.empty());
  const CommandInput &input = command.requests[0][0];
  EXPECT_EQ(input.input, 2);
  EXPECT_EQ(input.dims, (std::vector<int64_t>{1, 5}));
  EXPECT_EQ(command.bytes(), 5 * 8 + 4);
  Command withState;
  withState.states = {3};
  withState.requests = {{{1, Float32, {2}}}};
  words.clear();
  append(withState, words);
  ASSERT_TRUE(decode(words, command).isOk());
  EXPECT_EQ(command.states, std::vector<int64_t>{3});
  words.clear();
  append({.kind = Command::Kind::CopyState, .state = 4, .copy = 9}, words);
  ASSERT_TRUE(decode(words, command).isOk());
  EXPECT_EQ(command.copy, 9);
  EXPECT_TRUE(command.requests.empty());
}

/// Inputs without elements have no bytes, however large their other dims are.
TEST(Command, countsNoBytesOfEmptyInputs) {
  Command command;
  command.requests = {{{0, Float32, {int64_t(1) << 40, int64_t(1) << 40, 0}}}};
  std::vector<int64_t> words;
  append(command, words);
  ASSERT_TRUE(decode(words, command).isOk());
  EXPECT_EQ(command.bytes(), 0);
}

/// Of one replica, or of several at the same time.
TEST(Command, hasAStateForEachRequestOrNone) {
  Command command = twoRequests();
  command.states = {3, 4};
  std::vector<int64_t> words;
  append(command, words);
  ASSERT_TRUE(decode(words, command).isOk());
  EXPECT_EQ(command.requests.size(), 2u);
  EXPECT_EQ(command.states.size(), 2u);
  command.requests.pop_back();
  words.clear();
  append(command, words);
  EXPECT_FALSE(decode(words, command).isOk());
}

/// Words of any kind are a command whose sizes can be believed, or an error.
TEST(Command, isNoneWithOtherWords) {
  std::vector<int64_t> words;
  append(twoRequests(), words);
  Command command;
  for (size_t length = 0; length < words.size(); ++length)
    EXPECT_FALSE(decode({words.data(), length}, command).isOk()) << length;
  std::mt19937_64 random(5);
  for (int round = 0; round < 20'000; ++round) {
    std::vector<int64_t> other = words;
    for (int change = 0; change < 2; ++change)
      other[random() % other.size()] =
          static_cast<int64_t>(random() >> (random() % 64));
    if (decode(other, command).isOk()) {
      EXPECT_GE(command.bytes(), 0);
      EXPECT_LE(command.bytes(), int64_t(1) << 44);
    }
  }
}

TEST(CommandStream, reachesAllAlongTheTree) {
  std::vector<float> large(1 << 20);
  std::iota(large.begin(), large.end(), 0.0f);
  const std::vector<int64_t> small{7, 8, 9};
  Command command;
  command.requests = {{{0, Float32, {1 << 20}},
                       {1, Float32, {0}},
                       {2, artifact::ElementType_Int64, {3}}}};
  for (int size : {2, 3, 7})
    onFakeProcesses(size, [&](Transport &transport) {
      if (transport.rank() == 0) {
        // Of a session that nobody listened to.
        CommandStream before(transport, 1, 10s);
        ASSERT_TRUE(before.send({.kind = Command::Kind::End}, {}).isOk());
        CommandStream commands(transport, 2, 10s);
        const void *const data[] = {large.data(), nullptr, small.data()};
        for (int round = 0; round < 3; ++round)
          ASSERT_TRUE(commands.send(command, data).isOk());
        for (int rank = 1; rank < size; ++rank)
          EXPECT_TRUE(transport.waitForEnd(rank).isOk());
        return;
      }
      CommandStream commands(transport, 2, 10s);
      for (int round = 0; round < 3; ++round) {
        Command found;
        std::vector<const void *> data;
        const Status status = commands.receive(found, data);
        ASSERT_TRUE(status.isOk()) << status.message();
        ASSERT_EQ(data.size(), 3u);
        EXPECT_EQ(std::memcmp(data[0], large.data(), large.size() * 4), 0);
        EXPECT_EQ(std::memcmp(data[2], small.data(), 24), 0);
      }
    });
}

/// y = all_reduce(x + x) over two ranks.
ProgramBuilder doubled() {
  ProgramBuilder p({{"tp", 2}});
  auto n = p.symbol("n", 0, 0);
  auto x = p.input("x", Float32, {p.whole(n)});
  auto y = p.value(Float32, {n});
  p.run("TestAdd", {int32_t(x), int32_t(x)}, {int32_t(y)});
  auto z = p.value(Float32, {n}, /*replicated=*/true);
  p.run("all_reduce", {int32_t(y)}, {int32_t(z)}, {p.text("kind", "sum")},
        p.group({{0, 1, 2}}), "/sum");
  p.output("z", z, {p.whole(n)});
  return p;
}

/// Rank 0's user gets errors of its own, and the others' do nothing but follow.
TEST(Follow, doesWhatRankZeroDoes) {
  TestArtifact artifact(doubled());
  std::vector<std::thread> threads;
  for (const ProcessPlace &place : placesOnThisMachine(2))
    threads.emplace_back([&, place] {
      std::unique_ptr<Processes> processes;
      ASSERT_TRUE(Processes::join({place, 10s}, processes).isOk());
      SessionOptions options;
      options.processes = processes.get();
      // Two sessions, one after the other.
      for (int session = 0; session < 2; ++session) {
        std::unique_ptr<Session> opened;
        Status status = Session::open(artifact.path(), options, opened);
        ASSERT_TRUE(status.isOk()) << status.message();
        std::vector<Tensor> outputs(1);
        const Floats x({1, 2, 3}, {3});
        const InputTensor good[] = {x.as("x")}, bad[] = {x.as("y")};
        if (place.rank == 1) {
          EXPECT_EQ(opened->run(good, outputs).code(),
                    StatusCode::InvalidArgument);
          status = opened->follow();
          EXPECT_TRUE(status.isOk()) << status.message();
          continue;
        }
        EXPECT_FALSE(opened->follow().isOk());
        for (int round = 0; round < 3; ++round) {
          EXPECT_EQ(opened->run(bad, outputs).code(),
                    StatusCode::InvalidArgument);
          status = opened->run(good, outputs);
          ASSERT_TRUE(status.isOk()) << status.message();
          EXPECT_EQ(outputs[0].as<float>()[2], 12);
        }
      }
      EXPECT_TRUE(processes->conclude(Status::ok()).isOk());
    });
  for (std::thread &thread : threads)
    thread.join();
}

} // namespace
} // namespace shardc::runtime
