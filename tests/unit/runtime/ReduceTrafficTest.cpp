//===- ReduceTrafficTest.cpp - All_reduces of many threads ----------------===//
#include "tests/unit/runtime/CollectiveRanks.h"

#include <cmath>
#include <random>

namespace shardc::runtime {
namespace {

constexpr int64_t kLarge = 300'000; ///< more than the slots of 4 ranks

/// What this rank adds to a sum: of many magnitudes, so that its order shows.
std::vector<float> partOf(int rank, int64_t elements) {
  std::mt19937 random(static_cast<unsigned>(rank * 7919 + elements));
  std::vector<float> part(static_cast<size_t>(elements));
  for (float &x : part)
    x = std::ldexp(static_cast<float>(random()) / 1e9f,
                   static_cast<int>(random() % 40) - 20);
  return part;
}

Status sum(Communicator &communicator, std::vector<float> &values) {
  int64_t dims[] = {static_cast<int64_t>(values.size())};
  const TensorView view = packedView(values.data(), ElementType_Float32, dims);
  return communicator.allReduce(view, view, ReduceKind::Sum, kSite);
}

/// In place, sizes of every way in turn: none overtakes another, and the sums
/// are those in the order of ranks, bit for bit.
TEST(ReduceTraffic, sumsAreInTheOrderOfRanksInEveryWay) {
  for (int ranks : {2, 4, 9, 33}) {
    std::vector<std::vector<float>> expected;
    const std::vector<int64_t> sizes = {
        1, 65, 8000, 9000, 1, 100'000, 8000, kLarge, 3000, 100'000, 2, 100'000};
    for (int64_t elements : sizes) {
      expected.push_back(partOf(0, elements));
      for (int rank = 1; rank < ranks; ++rank) {
        const std::vector<float> part = partOf(rank, elements);
        for (size_t i = 0; i < part.size(); ++i)
          expected.back()[i] += part[i];
      }
    }
    onThreads(ranks, [&](Communicator &communicator) {
      for (size_t i = 0; i < sizes.size(); ++i) {
        std::vector<float> values = partOf(communicator.index(), sizes[i]);
        ASSERT_TRUE(sum(communicator, values).isOk());
        EXPECT_TRUE(values == expected[i])
            << ranks << " ranks, " << sizes[i] << " elements";
      }
    });
  }
}

/// The traffic of the rank with the most.
ReduceTraffic trafficOf(int ranks, int64_t elements) {
  RunFailure failure(std::chrono::seconds(60),
                     [](int rank) { return std::to_string(rank); });
  std::vector<int> members(static_cast<size_t>(ranks));
  std::iota(members.begin(), members.end(), 0);
  SharedMemoryGroup group(members, failure);
  EXPECT_TRUE(group.allocate());
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      std::vector<float> values(static_cast<size_t>(elements), 1.0f);
      EXPECT_TRUE(sum(*group.join(rank), values).isOk());
      EXPECT_EQ(values.back(), static_cast<float>(ranks));
    });
  for (std::thread &thread : threads)
    thread.join();
  return group.mostTraffic();
}

TEST(ReduceTraffic, aRankReadsNoMoreOfMoreRanks) {
  constexpr int64_t kElements = 8192, kBytes = 4 * kElements;
  for (int ranks : {8, 16, 64}) {
    const ReduceTraffic traffic = trafficOf(ranks, kElements);
    EXPECT_EQ(traffic.meetings, 2);
    EXPECT_EQ(traffic.bytesRead, 3 * kBytes) << ranks;
    EXPECT_EQ(traffic.bytesWritten, 2 * kBytes + kBytes / ranks);
  }
}

TEST(ReduceTraffic, littleIsReadAtOneMeeting) {
  const ReduceTraffic traffic = trafficOf(8, 256);
  EXPECT_EQ(traffic.meetings, 1);
  EXPECT_EQ(traffic.bytesRead, 9 * 1024);
  EXPECT_EQ(traffic.bytesWritten, 2 * 1024);
}

/// Of more ranks all would read the square of them.
TEST(ReduceTraffic, littleOfManyIsReadAtTwo) {
  for (int ranks : {9, 16, 64}) {
    const ReduceTraffic traffic = trafficOf(ranks, 256);
    EXPECT_EQ(traffic.meetings, 2);
    EXPECT_LE(traffic.bytesRead, 1024 + 256 * ranks + 1024) << ranks;
  }
}

TEST(ReduceTraffic, muchTakesTwoMeetingsAndMoreThanTheSlotsThree) {
  EXPECT_EQ(trafficOf(8, 64 * 1024).meetings, 2);
  const ReduceTraffic traffic = trafficOf(4, kLarge);
  EXPECT_EQ(traffic.meetings, 3);
  EXPECT_LT(traffic.bytesRead, 2 * 4 * kLarge + 4096);
}

} // namespace
} // namespace shardc::runtime
