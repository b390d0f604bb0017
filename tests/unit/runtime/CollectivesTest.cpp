//===- CollectivesTest.cpp - Collectives of threads and processes ---------===//
#include "runtime/kernels/CopyBlock.h"
#include "tests/unit/runtime/CollectiveRanks.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <random>

namespace shardc::runtime {
namespace {

void gathers(int ranks, int64_t rows, int64_t size, int64_t inner, int dim,
             bool interleaved) {
  std::vector<OwnedRuns> blocks = blocksOf(size, ranks, interleaved);
  const int64_t whole = blocks[0].globalSize;
  onRanks(ranks, [&](Communicator &communicator) {
    const OwnedRuns &mine = blocks[static_cast<size_t>(communicator.index())];
    std::vector<int64_t> dims = {rows, inner}, local = dims;
    dims.insert(dims.begin() + dim, whole);
    local.insert(local.begin() + dim, mine.localSize);
    std::vector<float> expected(static_cast<size_t>(rows * whole * inner));
    std::iota(expected.begin(), expected.end(), 0.0f);
    std::vector<float> in(static_cast<size_t>(rows * mine.localSize * inner)),
        out(expected.size());
    std::vector<OwnedRuns> all(3);
    for (int d = 0; d < 3; ++d)
      all[static_cast<size_t>(d)] =
          d == dim ? mine : OwnedRuns::whole(dims[static_cast<size_t>(d)]);
    TensorView input = packedView(in.data(), ElementType_Float32, local);
    copyBlock(all, packedView(expected.data(), ElementType_Float32, dims),
              input, BlockCopy::ToLocal);
    Status status = communicator.allGather(
        input, packedView(out.data(), ElementType_Float32, dims), dim, blocks,
        {"all_gather", "node", 0});
    ASSERT_TRUE(status.isOk()) << status.message();
    EXPECT_EQ(out, expected);
  });
}

TEST(AllGather, gathersUnevenAndEmptyBlocks) {
  for (int ranks : {1, 2, 3, 8})
    for (int64_t size : {0, 1, 5, 16})
      for (int dim : {0, 1, 2})
        for (bool interleaved : {false, true})
          gathers(ranks, 3, size, 4, dim, interleaved);
}

TEST(AllGather, gathersLargeBlocks) {
  for (int dim : {0, 1})
    gathers(3, 40, 100, 30, dim, true);
}

TEST(ReduceScatter, isAllReduceAndSlice) {
  for (int ranks : {2, 3, 8})
    for (int64_t size : {1, 5, 16}) {
      std::vector<OwnedRuns> blocks = blocksOf(size, ranks, true);
      onRanks(ranks, [&](Communicator &communicator) {
        const OwnedRuns &mine =
            blocks[static_cast<size_t>(communicator.index())];
        int64_t dims[] = {4, 2 * size}, local[] = {4, mine.localSize};
        std::vector<float> in(static_cast<size_t>(8 * size)),
            out(static_cast<size_t>(4 * mine.localSize));
        for (size_t i = 0; i < in.size(); ++i)
          in[i] = static_cast<float>(i) *
                  static_cast<float>(communicator.index() + 1);
        TensorView output = packedView(out.data(), ElementType_Float32, local);
        ASSERT_TRUE(
            communicator
                .reduceScatter(packedView(in.data(), ElementType_Float32, dims),
                               output, 1, blocks, ReduceKind::Sum,
                               {"reduce_scatter", "node", 0})
                .isOk());
        size_t at = 0;
        for (int64_t row = 0; row < 4; ++row)
          for (const OwnedRun &run : mine.runs)
            for (int64_t i = 0; i < run.length; ++i, ++at)
              EXPECT_EQ(out[at],
                        static_cast<float>((row * 2 * size + run.start + i) *
                                           ranks * (ranks + 1) / 2));
      });
    }
}

/// Rank's summand: of all sizes, so that the order of sums shows.
std::vector<float> summand(int rank, int64_t n) {
  std::mt19937 random(static_cast<unsigned>(rank));
  std::vector<float> values(static_cast<size_t>(n));
  for (float &x : values)
    x = std::ldexp(static_cast<float>(random()) / 1e9f,
                   static_cast<int>(random() % 40));
  return values;
}

TEST(Collectives, processesGiveTheBitsOfThreads) {
  // Small, a share a rank, and several messages a rank.
  for (int64_t n : {1000, 100'000, 3'000'000}) {
    const int ranks = 3;
    std::vector<std::vector<float>> sums;
    std::mutex mutex;
    onRanks(ranks, [&](Communicator &communicator) {
      std::vector<float> in = summand(communicator.index(), n), out = in;
      int64_t dims[] = {n};
      ASSERT_TRUE(
          communicator
              .allReduce(packedView(in.data(), ElementType_Float32, dims),
                         packedView(out.data(), ElementType_Float32, dims),
                         ReduceKind::Sum, kSite)
              .isOk());
      std::lock_guard lock(mutex);
      sums.push_back(out);
    });
    ASSERT_EQ(sums.size(), size_t{2 * ranks});
    for (const std::vector<float> &sum : sums)
      EXPECT_EQ(0, std::memcmp(sum.data(), sums[0].data(),
                               static_cast<size_t>(n) * sizeof(float)));
  }
}

TEST(Collectives, blocksLargerThanAMessage) {
  gathers(2, 3, 700'000, 1, 1, true);
  std::vector<OwnedRuns> blocks = blocksOf(700'001, 3, false);
  onRanks(3, [&](Communicator &communicator) {
    const OwnedRuns &mine = blocks[static_cast<size_t>(communicator.index())];
    std::vector<float> in = summand(communicator.index(), 2 * 700'001),
                       out(static_cast<size_t>(2 * mine.localSize)), whole = in;
    int64_t dims[] = {2, 700'001}, local[] = {2, mine.localSize};
    TensorView input = packedView(in.data(), ElementType_Float32, dims);
    TensorView sum = packedView(whole.data(), ElementType_Float32, dims);
    TensorView part = packedView(out.data(), ElementType_Float32, local);
    ASSERT_TRUE(
        communicator.allReduce(input, sum, ReduceKind::Sum, kSite).isOk());
    ASSERT_TRUE(
        communicator
            .reduceScatter(input, part, 1, blocks, ReduceKind::Sum, kSite)
            .isOk());
    for (int64_t row = 0; row < 2; ++row)
      ASSERT_EQ(0,
                std::memcmp(out.data() + row * mine.localSize,
                            whole.data() + row * 700'001 + mine.runs[0].start,
                            static_cast<size_t>(mine.localSize) * 4));
  });
}

TEST(Collectives, exchangesControlData) {
  onRanks(4, [](Communicator &communicator) {
    const int64_t mine = 10 + communicator.index();
    int64_t all[4] = {};
    ASSERT_TRUE(communicator.exchange(&mine, sizeof mine, all, kSite).isOk());
    for (int i = 0; i < 4; ++i)
      EXPECT_EQ(all[i], 10 + i);
  });
}

TEST(Collectives, manyInARowDoNotOvertakeEachOther) {
  onRanks(4, [&](Communicator &communicator) {
    for (int round = 0; round < 500; ++round) {
      float in = static_cast<float>(round), out = 0;
      ASSERT_TRUE(communicator
                      .allReduce(packedView(&in, ElementType_Float32, {}),
                                 packedView(&out, ElementType_Float32, {}),
                                 ReduceKind::Sum, {"all_reduce", "n", round})
                      .isOk());
      ASSERT_EQ(out, static_cast<float>(4 * round));
    }
  });
}

/// Whatever comes after what, nobody waits for a slot that nobody frees.
TEST(Collectives, inAnyOrderAndOfAnySize) {
  constexpr int kRanks = 4;
  onProcesses(kRanks, [&](Communicator &communicator) {
    std::mt19937 random(11); // alike in all
    const int self = communicator.index();
    std::vector<int32_t> in, out;
    for (int round = 0; round < 120; ++round) {
      constexpr int64_t kSizes[] = {1, 4, 4096, 4100, 50'001, 1'500'000};
      const int64_t n = kSizes[random() % (round % 10 == 0 ? 6 : 5)];
      const std::vector<OwnedRuns> blocks = blocksOf(n, kRanks, false);
      const OwnedRuns &own = blocks[static_cast<size_t>(self)];
      const int64_t begin = wayBegin(n, kRanks, self);
      const CollectiveSite site{"any", "n", round};
      const unsigned kind = random() % 3;
      const int64_t inSize = kind == 1 ? own.localSize : n;
      const int64_t outSize = kind == 2 ? own.localSize : n;
      in.resize(static_cast<size_t>(inSize));
      out.assign(static_cast<size_t>(outSize), -1);
      for (int64_t i = 0; i < inSize; ++i)
        in[static_cast<size_t>(i)] = static_cast<int32_t>(
            kind == 1 ? begin + i + round : i + round * (self + 1));
      const TensorView input =
          packedView(in.data(), ElementType_Int32, {&inSize, 1});
      const TensorView output =
          packedView(out.data(), ElementType_Int32, {&outSize, 1});
      const Status status =
          kind == 0
              ? communicator.allReduce(input, output, ReduceKind::Sum, site)
          : kind == 1 ? communicator.allGather(input, output, 0, blocks, site)
                      : communicator.reduceScatter(input, output, 0, blocks,
                                                   ReduceKind::Sum, site);
      ASSERT_TRUE(status.isOk()) << status.message();
      for (int64_t i = 0; i < outSize; ++i) {
        const int64_t at = kind == 2 ? begin + i : i;
        ASSERT_EQ(out[static_cast<size_t>(i)],
                  kind == 1 ? at + round : kRanks * at + 10 * round);
      }
    }
  });
}

/// As links of stages that are made one after the other: what a slow member
/// still reads is not written by the next communicator of the same group.
TEST(Collectives, communicatorsOfOneGroupDoNotOvertakeEachOther) {
  RunFailure failure(std::chrono::seconds(20), [](int) { return ""; });
  SharedMemoryGroup group({0, 1}, failure);
  ASSERT_TRUE(group.allocate());
  auto body = [&](int rank) {
    std::vector<int> mine(SharedMemoryGroup::kSlotBytes / sizeof(int));
    std::vector<int> all(2 * mine.size());
    for (int round = 0; round < 2000; ++round) {
      std::fill(mine.begin(), mine.end(), round);
      ASSERT_TRUE(group.join(rank)
                      ->exchange(mine.data(), mine.size() * sizeof(int),
                                 all.data(), {"exchange", "n", round})
                      .isOk());
      ASSERT_EQ(std::count(all.begin(), all.end(), round),
                static_cast<std::ptrdiff_t>(all.size()));
    }
  };
  std::thread other([&] { body(1); });
  body(0);
  other.join();
}

} // namespace
} // namespace shardc::runtime
