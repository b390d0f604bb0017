//===- MemoryNeedsTest.cpp - Whether ranks fit on their devices -----------===//
#include "runtime/memory/MemoryNeeds.h"

#include "runtime/base/AlignedBuffer.h"
#include "tests/unit/runtime/SessionFixture.h"

namespace shardc::runtime {
namespace {

MemoryNeed need(int rank, int device, int64_t bytes, int64_t freeBytes) {
  return {"rank " + std::to_string(rank),
          "device " + std::to_string(device) + " (NVIDIA H200)",
          device,
          {bytes - 10, 10, 3},
          freeBytes};
}

void expectContains(const std::string &text, const std::string &part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(MemoryNeeds, whatFitsIsNoError) {
  EXPECT_TRUE(checkMemory(std::vector<MemoryNeed>()).isOk());
  const std::vector<MemoryNeed> needs = {
      need(0, 0, 100, 100), need(1, 1, 40, 100), need(2, 1, 60, 100)};
  EXPECT_TRUE(checkMemory(needs).isOk());
}

TEST(MemoryNeeds, oneRankIsTooLarge) {
  const std::vector<MemoryNeed> needs = {need(0, 0, 50, 100),
                                         need(1, 1, 250, 100)};
  const Status status = checkMemory(needs);
  EXPECT_EQ(status.code(), StatusCode::Artifact);
  expectContains(status.message(),
                 "rank 1 needs 250 bytes on device 1 (NVIDIA H200), which has "
                 "100 free: 240 of weights, 10 of intermediate values");
  expectContains(status.message(), "KV caches take 3 bytes a position");
  expectContains(status.message(), "at least 3 times as many devices");
}

TEST(MemoryNeeds, ranksOfOneDeviceShareIt) {
  const std::vector<MemoryNeed> needs = {
      need(0, 0, 40, 100), need(1, 0, 40, 100), need(2, 0, 40, 100)};
  const Status status = checkMemory(needs);
  expectContains(status.message(),
                 "3 ranks, rank 0 among them, need 120 bytes");
  expectContains(status.message(), "90 of weights, 30 of intermediate values");
  expectContains(status.message(), "2 ranks would fit on it");
}

TEST(MemoryNeeds, nothingIsFree) {
  const std::vector<MemoryNeed> needs = {need(0, 0, 15, 0)};
  EXPECT_FALSE(checkMemory(needs).isOk());
}

/// z = copy(x + w), x of [n, 100]: two values live at once where n is 1; of a
/// cache of [positions, 6] split over 2 ranks a position has 3 of 4 bytes.
TEST(MemoryNeeds, countsTheSmallestRequestAndAPositionOfTheCaches) {
  using namespace test;
  ProgramBuilder p({{"tp", 2}});
  auto hundred = p.constant(100), six = p.constant(6), c = p.coordinate(0);
  auto mine = p.localSize(six, 2, c);
  auto n = p.symbol("n", 0, 0), past = p.symbol("past", 1, 0);
  auto x = p.input("x", Float32, {p.whole(n), p.whole(hundred)});
  auto total = p.binary(artifact::ScalarOp_Add, past, n);
  auto room = p.binary(artifact::ScalarOp_Maximum, total, p.capacity());
  auto split = p.split(six, 2, c);
  auto before = p.input("past", Float32, {p.whole(past), split});
  auto w = p.weight("w", Float32, {1, 100},
                    {p.whole(p.constant(1)), p.whole(hundred)},
                    std::string(400, '\0'));
  auto all = p.value(Float32, {room, mine});
  auto present =
      p.view(all, {total, mine}, {mine, p.constant(1)}, p.constant(0));
  p.run("TestFill", {}, {int32_t(present)}, {p.ints("value", {1})});
  auto y = p.value(Float32, {n, hundred}), z = p.value(Float32, {n, hundred});
  p.run("TestAdd", {int32_t(x), int32_t(w)}, {int32_t(y)});
  p.run("TestCopy", {int32_t(y)}, {int32_t(z)});
  p.output("z", z, {p.whole(n), p.whole(hundred)});
  p.output("present", present, {p.whole(total), split});
  p.cache(1, before, 1, all, 0, {room, mine}, {room, mine});
  TestArtifact folder(p);
  Artifact artifact;
  Status status = Artifact::open(folder.path(), {}, artifact);
  ASSERT_TRUE(status.isOk()) << status.message();
  NeededBytes needed;
  ASSERT_TRUE(neededBytes(artifact, 0, 1, needed).isOk());
  EXPECT_EQ(needed.weights, alignBuffer(400));
  EXPECT_EQ(needed.values, 2 * alignBuffer(400));
  EXPECT_EQ(needed.cachePosition, 3 * 4);
  MemoryNeed need{"rank 1", "device 0", 0, needed, needed.bytes() + 12 * 7 + 5};
  EXPECT_EQ(roomText({&need, 1}, 0),
            "room for 7 positions of its KV caches at batch 1");
  need.needed.caches = 7 * 12;
  EXPECT_EQ(roomText({&need, 1}, 0),
            "room for 7 positions of its KV caches at batch 1");
  EXPECT_TRUE(checkMemory({&need, 1}).isOk());
  need.needed.caches = 8 * 12;
  const Status full = checkMemory({&need, 1});
  expectContains(full.message(), "96 of KV caches");
  expectContains(full.message(), "there would be room for 7 positions");
  need.needed = {100, 10, 0};
  EXPECT_EQ(roomText({&need, 1}, 0), "");
}

TEST(MemoryNeeds, ranksOfAHostShareItsRoom) {
  std::vector<MemoryNeed> needs = {need(0, 0, 40, 100), need(1, 0, 30, 100)};
  for (MemoryNeed &each : needs)
    each.isHost = true;
  EXPECT_EQ(roomText(needs, 0),
            "room for 5 positions of its KV caches at batch 1");
  EXPECT_TRUE(checkMemory(needs).isOk());
  needs[1].needed.weights += 31;
  const Status status = checkMemory(needs);
  expectContains(status.message(),
                 "2 ranks, rank 0 among them, need 101 bytes");
  expectContains(status.message(), "81 of copies of weights");
  expectContains(status.message(), "1 rank would fit on it: run the others on "
                                   "other machines");
}

} // namespace
} // namespace shardc::runtime
