//===- ReduceTrafficTest.cpp - All_reduces of many threads ----------------===//
#include "tests/unit/runtime/CollectiveRanks.h"

#include "runtime/base/Float16.h"
#include "runtime/collectives/Reduction.h"

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

/// Of 8 at a time in the order of ranks, and of these sums likewise.
std::vector<float> sumOf(std::vector<std::vector<float>> parts) {
  while (parts.size() > 1) {
    std::vector<std::vector<float>> sums;
    for (size_t rank = 0; rank < parts.size(); ++rank)
      if (rank % 8 == 0)
        sums.push_back(std::move(parts[rank]));
      else
        for (size_t i = 0; i < parts[rank].size(); ++i)
          sums.back()[i] += parts[rank][i];
    parts = std::move(sums);
  }
  return std::move(parts[0]);
}

/// In place, sizes of every way in turn: none overtakes another, and the sums
/// are those in the order of ranks, bit for bit.
TEST(ReduceTraffic, sumsAreInTheOrderOfRanksInEveryWay) {
  for (int ranks : {2, 4, 8, 9, 33, 70}) {
    std::vector<std::vector<float>> expected;
    const std::vector<int64_t> sizes = {
        1, 65, 8000, 9000, 1, 100'000, 8000, kLarge, 3000, 100'000, 2, 100'000};
    for (int64_t elements : sizes) {
      std::vector<std::vector<float>> parts;
      for (int rank = 0; rank < ranks; ++rank)
        parts.push_back(partOf(rank, elements));
      expected.push_back(sumOf(std::move(parts)));
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

/// Numbers of 16 bits are rounded once, however many groups there are, and views
/// may have strides.
TEST(ReduceTraffic, sumsOfManyAreRoundedOnce) {
  constexpr int kRanks = 19;
  constexpr int64_t kRows = 700, kColumns = 500; // more than a part
  const auto numberOf = [](int rank, int64_t row, int64_t column) {
    return toBFloat(1 + 0.37f * float(rank) + float((row * 7 + column) % 97));
  };
  onThreads(kRanks, [&](Communicator &communicator) {
    std::vector<BFloat> values(kRows * 2 * kColumns);
    int64_t dims[] = {kRows, 2 * kColumns};
    TensorView view = packedView(values.data(), ElementType_BFloat16, dims);
    view.dims[1] = kColumns; // the first half of each row
    for (int64_t row = 0; row < kRows; ++row)
      for (int64_t column = 0; column < kColumns; ++column)
        values[size_t(row * 2 * kColumns + column)] =
            numberOf(communicator.index(), row, column);
    ASSERT_TRUE(
        communicator.allReduce(view, view, ReduceKind::Sum, kSite).isOk());
    for (int64_t row = 0; row < kRows; ++row)
      for (int64_t column = 0; column < kColumns; column += 3) {
        std::vector<std::vector<float>> parts;
        for (int rank = 0; rank < kRanks; ++rank)
          parts.push_back({toFloat(numberOf(rank, row, column))});
        ASSERT_EQ(toFloat(values[size_t(row * 2 * kColumns + column)]),
                  toFloat(toBFloat(sumOf(std::move(parts))[0])))
            << row << " " << column;
        ASSERT_EQ(toFloat(values[size_t((row * 2 + 1) * kColumns + column)]),
                  0);
      }
  });
}

TEST(ReduceTraffic, threadsAddAsProcessesDo) {
  constexpr int kRanks = 20;
  std::vector<std::vector<float>> parts;
  std::vector<TensorView> views;
  int64_t dims[] = {3000};
  for (int rank = 0; rank < kRanks; ++rank)
    parts.push_back(partOf(rank, dims[0]));
  for (std::vector<float> &part : parts)
    views.push_back(packedView(part.data(), ElementType_Float32, dims));
  std::vector<float> sums(static_cast<size_t>(dims[0]));
  ASSERT_TRUE(reduceRange(ReduceKind::Sum, views,
                          packedView(sums.data(), ElementType_Float32, dims), 0,
                          dims[0])
                  .isOk());
  EXPECT_TRUE(sums == sumOf(parts));
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
  const ReduceTraffic traffic = trafficOf(8, kElements);
  EXPECT_EQ(traffic.meetings, 2);
  EXPECT_EQ(traffic.bytesRead, 3 * kBytes);
  EXPECT_EQ(traffic.bytesWritten, 2 * kBytes + kBytes / 8);
  EXPECT_EQ(traffic.bytesBetween, 0);
  for (int ranks : {16, 32, 64}) {
    // Its part of what its group has, of the groups' sums and of the result.
    const ReduceTraffic ofMany = trafficOf(ranks, kElements);
    EXPECT_EQ(ofMany.meetings, 4);
    EXPECT_EQ(ofMany.bytesRead, 2 * kBytes + kBytes / 4) << ranks;
    // Its part of all other groups' sums, and an eighth of the result.
    const int64_t groups = ranks / 8;
    EXPECT_EQ(ofMany.bytesBetween, (groups - 1) * kBytes / ranks + kBytes / 8)
        << ranks;
  }
}

/// Those that wait in their groups end with those that wait for all.
TEST(ReduceTraffic, oneThatDoesNotComeIsNamed) {
  constexpr int kRanks = 20, kMissing = 9;
  RunFailure failure(std::chrono::milliseconds(300),
                     [](int rank) { return "<" + std::to_string(rank) + ">"; });
  std::vector<int> members(kRanks);
  std::iota(members.begin(), members.end(), 0);
  SharedMemoryGroup group(members, failure);
  ASSERT_TRUE(group.allocate());
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank)
    if (rank != kMissing)
      threads.emplace_back([&, rank] {
        std::vector<float> values(100);
        EXPECT_FALSE(sum(*group.join(rank), values).isOk());
      });
  for (std::thread &thread : threads)
    thread.join();
  const std::string why = failure.status().message();
  EXPECT_NE(why.find("<9>"), std::string::npos) << why;
  EXPECT_EQ(why.find("<1>"), std::string::npos) << why;
}

/// What goes from group to group grows with the groups, not with all pairs of
/// ranks, and not with where they are.
TEST(ReduceTraffic, littleGoesFromGroupToGroup) {
  constexpr int64_t kElements = 1 << 20, kBytes = 4 * kElements;
  for (int ranks : {16, 24, 64})
    EXPECT_LE(trafficOf(ranks, kElements).bytesBetween, kBytes / 4) << ranks;
  EXPECT_LE(trafficOf(9, kElements).bytesBetween, 2 * kBytes)
      << "the last is alone in its group";
}

TEST(ReduceTraffic, littleIsReadAtOneMeeting) {
  const ReduceTraffic traffic = trafficOf(8, 256);
  EXPECT_EQ(traffic.meetings, 1);
  EXPECT_EQ(traffic.bytesRead, 9 * 1024);
  EXPECT_EQ(traffic.bytesWritten, 2 * 1024);
}

TEST(ReduceTraffic, muchTakesTwoMeetingsAndMoreThanTheSlotsThree) {
  EXPECT_EQ(trafficOf(8, 64 * 1024).meetings, 2);
  const ReduceTraffic traffic = trafficOf(4, kLarge);
  EXPECT_EQ(traffic.meetings, 3);
  EXPECT_LT(traffic.bytesRead, 2 * 4 * kLarge + 4096);
}

} // namespace
} // namespace shardc::runtime
