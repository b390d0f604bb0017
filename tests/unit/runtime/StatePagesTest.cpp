//===- StatePagesTest.cpp - Caches whose memory comes page by page --------===//
#include "runtime/cache/CacheState.h"
#include "tests/unit/runtime/SessionFixture.h"

#include <cstdlib>
#include <numeric>

namespace shardc::runtime {
namespace {

using namespace test;

/// present = past | x along dim 1, rows split over tp; y = present + present.
/// In memory positions lie outside of rows, or (`rowsFirst`) inside of them.
ProgramBuilder appending(int64_t ways, bool rowsFirst = false) {
  ProgramBuilder p({{"tp", ways}});
  auto four = p.constant(4), one = p.constant(1), zero = p.constant(0);
  auto s = p.symbol("s", 0, 1), past = p.symbol("past", 1, 1);
  auto c = p.coordinate(0), rows = p.localSize(four, ways, c);
  auto room = p.capacity();
  auto total = p.binary(artifact::ScalarOp_Add, past, s);
  auto pastRoom = p.binary(artifact::ScalarOp_Maximum, past, room);
  auto totalRoom = p.binary(artifact::ScalarOp_Maximum, total, room);
  auto split = p.split(four, ways, c);
  auto x = p.input("x", Float32, {split, p.whole(s)});
  auto before = p.input("past", Float32, {split, p.whole(past)});
  auto all = p.value(Float32, {rows, totalRoom});
  auto at = [&](uint32_t view, uint32_t size, uint32_t stride, uint32_t begin) {
    using Scalars = std::vector<uint32_t>;
    return p.view(view, {rows, size},
                  rowsFirst ? Scalars{stride, one} : Scalars{one, rows},
                  rowsFirst ? begin : p.multiply(begin, rows));
  };
  if (!rowsFirst)
    p.setStrides(before, {one, rows});
  p.run("TestCopy", {int32_t(at(before, past, pastRoom, zero))},
        {int32_t(at(all, past, totalRoom, zero))});
  p.run("TestCopy", {int32_t(x)}, {int32_t(at(all, s, totalRoom, past))});
  auto present = at(all, total, totalRoom, zero);
  auto dense = p.value(Float32, {rows, total});
  p.run("TestCopy", {int32_t(present)}, {int32_t(dense)});
  auto y = p.value(Float32, {rows, total});
  p.run("TestAdd", {int32_t(dense), int32_t(dense)}, {int32_t(y)});
  p.output("y", y, {split, p.whole(total)});
  p.output("present", present, {split, p.whole(total)});
  p.cache(1, before, 1, all, 1, {rows, pastRoom}, {rows, totalRoom});
  return p;
}

/// Four rows of so many positions, all different.
Floats block(int64_t count, float first) {
  std::vector<float> values(static_cast<size_t>(4 * count));
  std::iota(values.begin(), values.end(), first);
  return Floats(std::move(values), {4, count});
}

/// On fake devices, whose pages have 4096 bytes: 256 positions of four rows.
class StatePages : public testing::Test {
protected:
  static constexpr int64_t kPage = 4096, kCapacity = 4096, kRows = 16;

  void SetUp() override { setenv("SHARDC_BACKENDS", SHARDC_TEST_BACKENDS, 1); }
  void TearDown() override {
    unsetenv("SHARDC_FAKE_MEMORY");
    unsetenv("SHARDC_FAKE_PAGE");
  }

  void open(const TestArtifact &artifact) {
    SessionOptions options;
    options.device = "fake";
    state.reset(); // before its session
    s = std::make_unique<OpenSession>(artifact, options);
    ASSERT_TRUE(s->session->createState(kCapacity, state).isOk());
  }
  Status run(State &into, const Floats &x) {
    const InputTensor inputs[] = {x.as("x")};
    return s->session->run(into, inputs, s->outputs);
  }
  Status run(const Floats &x) { return run(*state, x); }

  std::unique_ptr<OpenSession> s;
  std::unique_ptr<State> state;
};

TEST_F(StatePages, growAsIfAllWereThere) {
  for (int64_t ways : {1, 2, 3}) {
    TestArtifact artifact(appending(ways));
    std::vector<std::vector<float>> expected;
    for (const char *page : {"0", "4096"}) {
      setenv("SHARDC_FAKE_PAGE", page, 1);
      open(artifact);
      size_t step = 0;
      for (int64_t count : {5, 250, 1, 1, 700, 1, 2048, 1090}) {
        const Status status =
            run(block(count, 10'000.F * static_cast<float>(step)));
        ASSERT_TRUE(status.isOk()) << status.message();
        if (*page == '0')
          expected.push_back(s->floats(0));
        EXPECT_EQ(s->floats(0), expected[step++]);
      }
      EXPECT_EQ(state->length(), kCapacity);
      EXPECT_FALSE(run(block(1, 0)).isOk()) << "it is full";
    }
  }
}

TEST_F(StatePages, takeWhatIsHeld) {
  TestArtifact artifact(appending(1));
  open(artifact);
  EXPECT_EQ(state->memory().size(), 1u);
  EXPECT_EQ(state->memory()[0].reservedBytes, 0) << "before the first run";
  auto expectTaken = [](const State &of, int64_t bytes) {
    const std::vector<StateMemory> memory = of.memory();
    EXPECT_EQ(memory[0].rank, 0);
    EXPECT_EQ(memory[0].committedBytes, bytes);
    EXPECT_EQ(memory[0].reservedBytes, kRows * kCapacity);
  };
  ASSERT_TRUE(run(block(5, 1)).isOk());
  expectTaken(*state, kPage);
  ASSERT_TRUE(run(block(251, 1)).isOk());
  expectTaken(*state, kPage);
  ASSERT_TRUE(run(block(1, 1)).isOk());
  expectTaken(*state, 2 * kPage);
  ASSERT_TRUE(run(block(1000, 1)).isOk());
  expectTaken(*state, 5 * kPage);
  state->reset(); // for the next sequence
  expectTaken(*state, 5 * kPage);
  ASSERT_TRUE(run(block(300, 7)).isOk());
  std::unique_ptr<State> fork;
  ASSERT_TRUE(state->fork(fork).isOk());
  expectTaken(*fork, 2 * kPage); // what is held, not what was
  ASSERT_TRUE(run(*fork, block(1, 3)).isOk());
  const std::vector<float> ofFork = s->floats(0);
  ASSERT_TRUE(run(block(1, 3)).isOk());
  EXPECT_EQ(s->floats(0), ofFork);
}

TEST_F(StatePages, areAllNeededWhereRowsLieOutside) {
  TestArtifact artifact(appending(1, /*rowsFirst=*/true));
  open(artifact);
  ASSERT_TRUE(run(block(5, 1)).isOk());
  const StateMemory memory = state->memory()[0];
  EXPECT_GT(memory.committedBytes, memory.reservedBytes * 3 / 4);
}

TEST_F(StatePages, comeAtOnceWhereADeviceHasNone) {
  setenv("SHARDC_FAKE_PAGE", "0", 1);
  TestArtifact artifact(appending(2));
  open(artifact);
  ASSERT_TRUE(run(block(5, 1)).isOk());
  for (const StateMemory &memory : state->memory())
    EXPECT_EQ(memory.committedBytes, memory.reservedBytes) << memory.rank;
}

TEST_F(StatePages, aStateIsOfUseWhereNoMoreCome) {
  TestArtifact artifact(appending(2));
  open(artifact);
  ASSERT_TRUE(run(block(600, 0)).isOk()); // with room for other values, too
  state->reset();
  ASSERT_TRUE(run(block(550, 1)).isOk());
  setenv("SHARDC_FAKE_MEMORY", "0", 1);
  const Status status = run(block(1000, 2));
  EXPECT_EQ(status.code(), StatusCode::Artifact);
  // Of either rank: both find out.
  EXPECT_NE(status.message().find("out of memory: rank "), std::string::npos)
      << status.message();
  EXPECT_NE(status.message().find(
                " needs 12400 bytes for the cache of 'past', has 8192 of them, "
                "and would need 32768 where it is full; drop states that are "
                "done"),
            std::string::npos)
      << status.message();
  EXPECT_EQ(state->length(), 550);
  ASSERT_TRUE(run(block(1, 3)).isOk()) << "there is room in the page";
  unsetenv("SHARDC_FAKE_MEMORY");
  ASSERT_TRUE(run(block(1000, 4)).isOk());
  EXPECT_EQ(state->length(), 1551);
  const std::vector<float> row = s->floats(0);
  EXPECT_EQ(row[0], 2);
  EXPECT_EQ(row[549], 1100);
  EXPECT_EQ(row[550], 6);
  EXPECT_EQ(row[551], 8);
  EXPECT_EQ(row[1550], 2006);
}

TEST_F(StatePages, aForkThatHasNoRoomSaysSo) {
  TestArtifact artifact(appending(1));
  open(artifact);
  ASSERT_TRUE(run(block(600, 1)).isOk());
  setenv("SHARDC_FAKE_MEMORY", "0", 1);
  std::unique_ptr<State> fork;
  const Status status = state->fork(fork);
  EXPECT_NE(status.message().find("rank 0 needs 9600 bytes for a copied cache"),
            std::string::npos)
      << status.message();
  EXPECT_EQ(fork, nullptr);
}

/// Past in the order that a request has, which is not the program's.
TEST_F(StatePages, pastFromOutsideIsTurned) {
  for (int64_t ways : {1, 2, 3}) {
    TestArtifact artifact(appending(ways));
    for (const char *device : {"host", "fake"}) {
      SessionOptions options;
      options.device = device;
      OpenSession session(artifact, options);
      const Floats x = block(1, 90), past = block(3, 1);
      ASSERT_TRUE(session.run({x.as("x"), past.as("past")}).isOk());
      EXPECT_EQ(session.floats(1),
                (std::vector<float>{1, 2, 3, 90, 4, 5, 6, 91, 7, 8, 9, 92, 10,
                                    11, 12, 93}));
    }
  }
}

TEST(StateOnTheHost, staysWhereItIsAsItGrows) {
  const std::string bytes = appending(1).finish();
  const artifact::Program *program = artifact::GetProgram(bytes.data());
  std::unique_ptr<Device> host;
  ASSERT_TRUE(hostBackend().open(0, host).isOk());
  std::unique_ptr<DeviceStream> stream;
  ASSERT_TRUE(host->createStream(stream).isOk());
  CacheState state(*program, {host.get()}, 1 << 20);
  const std::vector<std::vector<int64_t>> coordinates{{0}};
  StageScalars scalars(*program, coordinates, /*rank=*/0);
  std::byte *at = nullptr;
  uint64_t placement = 0;
  for (int64_t count : {1, 2, 100'000, 1, 800'000}) {
    const int64_t symbols[] = {count, state.length(), 1 << 20};
    ASSERT_TRUE(scalars.bind(symbols).isOk());
    ASSERT_TRUE(state.prepare(*program, scalars).isOk());
    const Status status = state.reserve(*program, 0, scalars.mine(), *stream);
    ASSERT_TRUE(status.isOk()) << status.message();
    if (!at) {
      at = state.memoryOf(0, 0);
      placement = state.placement();
      EXPECT_LE(state.memoryTaken(0).committedBytes, 1 << 20);
    }
    EXPECT_EQ(state.memoryOf(0, 0), at);
    EXPECT_EQ(state.placement(), placement);
    // All of it can be written.
    const int64_t end = 16 * (state.length() + count);
    std::fill(at, at + end, std::byte(1));
    EXPECT_GE(state.memoryTaken(0).committedBytes, end);
    ASSERT_TRUE(state.finish(*program, 0, scalars.mine()).isOk());
    state.advance(*program, scalars.mine());
  }
  EXPECT_EQ(state.length(), 900'004);
}

} // namespace
} // namespace shardc::runtime
