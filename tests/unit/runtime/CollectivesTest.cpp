//===- CollectivesTest.cpp - Collectives of threads and processes ---------===//
//
// One suite for all communicators.
//
//===----------------------------------------------------------------------===//
#include "runtime/artifact/ElementNames.h"
#include "runtime/backend/host/SharedMemoryGroup.h"
#include "runtime/backend/net/NetworkCommunicator.h"
#include "runtime/base/Float16.h"
#include "runtime/exec/StridedCopy.h"
#include "tests/unit/runtime/FakeProcesses.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <mutex>
#include <numeric>
#include <random>
#include <thread>
#include <type_traits>

namespace shardc::runtime {
namespace {

using namespace artifact;

/// Runs body(communicator) on one thread for each rank.
template <typename Body> void onThreads(int ranks, Body body) {
  RunFailure failure(std::chrono::seconds(20),
                     [](int rank) { return "rank " + std::to_string(rank); });
  std::vector<int> members(static_cast<size_t>(ranks));
  std::iota(members.begin(), members.end(), 0);
  SharedMemoryGroup group(members, failure);
  ASSERT_TRUE(group.allocate());
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      auto communicator = group.join(rank);
      communicator->beginRun();
      body(*communicator);
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_TRUE(failure.status().isOk()) << failure.status().message();
}

/// The same over connections.
template <typename Body> void onProcesses(int ranks, Body body) {
  std::vector<int> members(static_cast<size_t>(ranks));
  std::iota(members.begin(), members.end(), 0);
  test::onFakeProcesses(ranks, [&](Transport &transport) {
    NetworkCommunicator communicator(transport, members,
                                     std::chrono::seconds(20));
    communicator.beginRun();
    body(communicator);
    EXPECT_FALSE(transport.failed()) << transport.failure().message();
  });
}

template <typename Body> void onRanks(int ranks, Body body) {
  onThreads(ranks, body);
  onProcesses(ranks, body);
}

template <typename T> struct Element;
template <> struct Element<float> {
  static constexpr auto type = ElementType_Float32;
};
template <> struct Element<double> {
  static constexpr auto type = ElementType_Float64;
};
template <> struct Element<int32_t> {
  static constexpr auto type = ElementType_Int32;
};
template <> struct Element<int64_t> {
  static constexpr auto type = ElementType_Int64;
};

constexpr CollectiveSite kSite{"all_reduce", "node", 0};

/// Sums small integers, so every order gives the same; sizes take both ways.
/// Types make a difference to the sums only, which all communicators share.
template <typename T> void sumsExactly(bool inPlace, bool strided) {
  auto run = [](int ranks, auto body) {
    if (std::is_same_v<T, float>)
      onRanks(ranks, body);
    else
      onThreads(ranks, body);
  };
  for (int ranks : {1, 2, 3, 8})
    for (int64_t n : {0, 1, 7, 64, 1000, 40000}) {
      const int64_t step = strided ? 2 : 1;
      std::vector<std::vector<T>> in(static_cast<size_t>(ranks)), out = in;
      run(ranks, [&](Communicator &communicator) {
        auto self = static_cast<size_t>(communicator.index());
        in[self].resize(static_cast<size_t>(n * step));
        for (int64_t i = 0; i < n; ++i)
          in[self][static_cast<size_t>(i * step)] =
              static_cast<T>((i + 1) % 50 * (communicator.index() + 1));
        out[self].assign(static_cast<size_t>(n), T{0});
        int64_t dims[] = {n};
        TensorView input = packedView(in[self].data(), Element<T>::type, dims);
        input.strides[0] = step;
        TensorView output =
            inPlace ? input
                    : packedView(out[self].data(), Element<T>::type, dims);
        Status status =
            communicator.allReduce(input, output, ReduceKind::Sum, kSite);
        ASSERT_TRUE(status.isOk()) << status.message();
        for (int64_t i = 0; i < n; ++i)
          ASSERT_EQ(output.as<T>()[i * output.strides[0]],
                    static_cast<T>((i + 1) % 50 * ranks * (ranks + 1) / 2));
      });
    }
}

TEST(AllReduce, sumsExactly) {
  sumsExactly<float>(false, false);
  sumsExactly<double>(false, false);
  sumsExactly<int32_t>(false, false);
  sumsExactly<int64_t>(false, false);
}

TEST(AllReduce, worksInPlace) { sumsExactly<float>(true, false); }

TEST(AllReduce, takesStridedViews) {
  sumsExactly<float>(false, true);
  sumsExactly<float>(true, true);
}

TEST(AllReduce, givesIdenticalBits) {
  for (int64_t n : {1000, 100000}) {
    const int ranks = 8;
    std::vector<std::vector<float>> out(ranks);
    onRanks(ranks, [&](Communicator &communicator) {
      std::mt19937 random(static_cast<unsigned>(communicator.index()));
      std::vector<float> in(static_cast<size_t>(n));
      for (float &x : in)
        x = std::ldexp(static_cast<float>(random()) / 1e9f,
                       static_cast<int>(random() % 40));
      auto &mine = out[static_cast<size_t>(communicator.index())];
      mine.resize(in.size());
      int64_t dims[] = {n};
      ASSERT_TRUE(
          communicator
              .allReduce(packedView(in.data(), ElementType_Float32, dims),
                         packedView(mine.data(), ElementType_Float32, dims),
                         ReduceKind::Sum, kSite)
              .isOk());
    });
    for (int rank = 1; rank < ranks; ++rank)
      EXPECT_EQ(0, std::memcmp(out[0].data(),
                               out[static_cast<size_t>(rank)].data(),
                               static_cast<size_t>(n) * 4));
  }
}

TEST(AllReduce, accumulatesHalvesInFloat) {
  // 1 + 2^-11 eight times: in f16 each sum would lose the small part.
  for (bool bfloat : {false, true})
    onRanks(8, [&](Communicator &communicator) {
      float x = communicator.index() == 0 ? 256.0f : 0.25f;
      uint16_t in = bfloat ? toBFloat(x).bits : toHalf(x).bits, out = 0;
      auto type = bfloat ? ElementType_BFloat16 : ElementType_Float16;
      ASSERT_TRUE(communicator
                      .allReduce(packedView(&in, type, {}),
                                 packedView(&out, type, {}), ReduceKind::Sum,
                                 kSite)
                      .isOk());
      float expected = 256.0f + 7 * 0.25f;
      EXPECT_EQ(out, bfloat ? toBFloat(expected).bits : toHalf(expected).bits);
    });
}

TEST(AllReduce, maxAndMinPropagateNaN) {
  onRanks(3, [&](Communicator &communicator) {
    const float nan = std::nanf("");
    float values[3][3] = {{1, nan, -1}, {2, 5, -2}, {0, 6, nan}};
    float out[3];
    int64_t dims[] = {3};
    TensorView input =
        packedView(values[communicator.index()], ElementType_Float32, dims);
    TensorView output = packedView(out, ElementType_Float32, dims);
    ASSERT_TRUE(
        communicator.allReduce(input, output, ReduceKind::Max, kSite).isOk());
    EXPECT_EQ(out[0], 2);
    EXPECT_TRUE(std::isnan(out[1]));
    EXPECT_TRUE(std::isnan(out[2]));
    ASSERT_TRUE(
        communicator.allReduce(input, output, ReduceKind::Min, kSite).isOk());
    EXPECT_EQ(out[0], 0);
    bool flag = communicator.index() == 1, any = false;
    ASSERT_TRUE(communicator
                    .allReduce(packedView(&flag, ElementType_Bool, {}),
                               packedView(&any, ElementType_Bool, {}),
                               ReduceKind::Max, kSite)
                    .isOk());
    EXPECT_TRUE(any);
  });
}

/// Blocks of a dim of `size` by floor splitting, some of them empty.
std::vector<OwnedRuns> blocksOf(int64_t size, int ranks, bool interleaved) {
  std::vector<OwnedRuns> blocks;
  for (int i = 0; i < ranks; ++i) {
    OwnedRuns block{interleaved ? 2 * size : size, 0, {}};
    int64_t begin = wayBegin(size, ranks, i),
            end = wayBegin(size, ranks, i + 1);
    for (int64_t base : {int64_t{0}, size}) {
      if (end > begin)
        block.runs.push_back({base + begin, end - begin});
      block.localSize += end - begin;
      if (!interleaved)
        break;
    }
    blocks.push_back(block);
  }
  return blocks;
}

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

/// Each token goes to two experts; `spread` 0 sends all of them to expert 0.
void routes(int ranks, int64_t size, int64_t experts, int64_t spread) {
  constexpr int64_t kWidth = 3;
  const std::vector<OwnedRuns> blocks = blocksOf(size, ranks, true);
  const int64_t tokens = blocks[0].globalSize;
  std::vector<int64_t> choices(static_cast<size_t>(2 * tokens));
  for (size_t i = 0; i < choices.size(); ++i)
    choices[i] = static_cast<int64_t>(i * 7 + i / 3) * spread % experts -
                 (i % 5 == 0 ? experts : 0); // counted from the last one
  const int64_t choiceDims[] = {tokens, 2};
  onRanks(ranks, [&](Communicator &communicator) {
    const OwnedRuns &mine = blocks[static_cast<size_t>(communicator.index())];
    const ExpertRouting routing{
        packedView(choices.data(), ElementType_Int64, choiceDims), experts,
        ranks};
    std::vector<float> own, all(static_cast<size_t>(tokens * kWidth), -1),
        back(static_cast<size_t>(mine.localSize * kWidth));
    for (const OwnedRun &run : mine.runs)
      for (int64_t i = run.start * kWidth;
           i < (run.start + run.length) * kWidth; ++i)
        own.push_back(static_cast<float>(i));
    const int64_t local[] = {mine.localSize, kWidth},
                  global[] = {tokens, kWidth};
    const TensorView whole =
        packedView(all.data(), ElementType_Float32, global);
    ASSERT_TRUE(
        communicator
            .dispatch(packedView(own.data(), ElementType_Float32, local), whole,
                      blocks, routing, {"dispatch", "node", 0})
            .isOk());
    for (int64_t row = 0; row < tokens; ++row)
      for (int64_t i = 0; i < kWidth; ++i) {
        float &x = all[static_cast<size_t>(row * kWidth + i)];
        const bool taken = routing.takes(communicator.index(), row);
        EXPECT_EQ(x, taken ? static_cast<float>(row * kWidth + i) : -1.0f);
        if (!taken)
          x = 0;
      }
    ASSERT_TRUE(
        communicator
            .combine(whole, packedView(back.data(), ElementType_Float32, local),
                     blocks, routing, {"combine", "node", 1})
            .isOk());
    size_t at = 0;
    for (const OwnedRun &run : mine.runs)
      for (int64_t row = run.start; row < run.start + run.length; ++row) {
        int takers = 0;
        for (int rank = 0; rank < ranks; ++rank)
          takers += routing.takes(rank, row);
        for (int64_t i = 0; i < kWidth; ++i, ++at)
          EXPECT_EQ(back[at], own[at] * static_cast<float>(takers));
      }
  });
}

TEST(Dispatch, sendsRowsToTheirExpertsAndBack) {
  for (int ranks : {1, 2, 3, 8})
    for (int64_t size : {0, 1, 9, 100})
      for (int64_t experts : {1, 4, 10})
        for (int64_t spread : {0, 1})
          routes(ranks, size, experts, spread);
}

/// Rank's part of a [rows, columns] matrix whose elements are their numbers.
std::vector<float> partOf(const OwnedRuns &rows, const OwnedRuns &columns) {
  std::vector<float> part;
  for (const OwnedRun &r : rows.runs)
    for (int64_t i = r.start; i < r.start + r.length; ++i)
      for (const OwnedRun &c : columns.runs)
        for (int64_t j = c.start; j < c.start + c.length; ++j)
          part.push_back(static_cast<float>(i * columns.globalSize + j));
  return part;
}

/// From rows to columns, split as `from` and `to` say.
void swaps(int ranks, std::vector<OwnedRuns> from, std::vector<OwnedRuns> to) {
  const OwnedRuns rows = OwnedRuns::whole(from[0].globalSize),
                  columns = OwnedRuns::whole(to[0].globalSize);
  onRanks(ranks, [&](Communicator &communicator) {
    const auto self = static_cast<size_t>(communicator.index());
    std::vector<float> in = partOf(from[self], columns),
                       expected = partOf(rows, to[self]), out(expected.size());
    int64_t inDims[] = {from[self].localSize, columns.globalSize};
    int64_t outDims[] = {rows.globalSize, to[self].localSize};
    Status status = communicator.allToAll(
        packedView(in.data(), ElementType_Float32, inDims),
        packedView(out.data(), ElementType_Float32, outDims), {0, from},
        {1, to}, {"all_to_all", "node", 0});
    ASSERT_TRUE(status.isOk()) << status.message();
    EXPECT_EQ(out, expected);
  });
}

TEST(AllToAll, swapsUnevenAndEmptyBlocks) {
  for (int ranks : {1, 2, 3, 8})
    for (int64_t rows : {0, 1, 5, 16})
      for (int64_t columns : {0, 3, 8})
        for (bool interleaved : {false, true}) {
          swaps(ranks, blocksOf(rows, ranks, interleaved),
                blocksOf(columns, ranks, !interleaved));
          swaps(ranks, blocksOf(rows, ranks, interleaved),
                blocksOf(columns, ranks, interleaved));
        }
}

TEST(AllToAll, swapsLargeBlocks) {
  swaps(3, blocksOf(500, 3, true), blocksOf(100, 3, false));
}

/// Of 2 k parts of a dim, rank i has number i and number 2 k - 1 - i.
std::vector<OwnedRuns> zigZag(int64_t size, int ranks) {
  std::vector<OwnedRuns> blocks;
  for (int rank = 0; rank < ranks; ++rank) {
    OwnedRuns block{size, 0, {}};
    for (int part : {rank, 2 * ranks - 1 - rank}) {
      const int64_t begin = wayBegin(size, 2 * ranks, part);
      const int64_t length = wayBegin(size, 2 * ranks, part + 1) - begin;
      if (length > 0)
        block.runs.push_back({begin, length});
      block.localSize += length;
    }
    blocks.push_back(block);
  }
  return blocks;
}

TEST(AllToAll, dealsOutOneDimInAnotherWay) {
  for (int ranks : {1, 2, 3, 8})
    for (int64_t size : {0, 1, 5, 16, 50000})
      for (bool back : {false, true})
        onRanks(ranks, [&](Communicator &communicator) {
          std::vector<OwnedRuns> from = blocksOf(size, ranks, false),
                                 to = zigZag(size, ranks);
          if (back)
            std::swap(from, to);
          const auto self = static_cast<size_t>(communicator.index());
          const OwnedRuns one = OwnedRuns::whole(1);
          std::vector<float> in = partOf(from[self], one),
                             expected = partOf(to[self], one),
                             out(expected.size());
          int64_t inDims[] = {from[self].localSize};
          int64_t outDims[] = {to[self].localSize};
          Status status = communicator.allToAll(
              packedView(in.data(), ElementType_Float32, inDims),
              packedView(out.data(), ElementType_Float32, outDims), {0, from},
              {0, to}, {"all_to_all", "node", 0});
          ASSERT_TRUE(status.isOk()) << status.message();
          EXPECT_EQ(out, expected);
        });
}

TEST(Shift, givesTheInputOfARankFurtherOn) {
  for (int ranks : {1, 2, 5})
    for (int distance = 0; distance < ranks; ++distance)
      onRanks(ranks, [&](Communicator &communicator) {
        const int source = (communicator.index() + distance) % ranks;
        auto valuesOf = [](int rank) { // rank 2 has none
          return std::vector<float>(rank == 2 ? 0 : 1000 * rank + 1,
                                    static_cast<float>(rank));
        };
        std::vector<float> in = valuesOf(communicator.index()),
                           expected = valuesOf(source), out(expected.size());
        int64_t inDims[] = {int64_t(in.size())};
        int64_t outDims[] = {int64_t(out.size())};
        Status status = communicator.shift(
            packedView(in.data(), ElementType_Float32, inDims),
            packedView(out.data(), ElementType_Float32, outDims), distance,
            {"shift", "node", 0});
        ASSERT_TRUE(status.isOk()) << status.message();
        EXPECT_EQ(out, expected);
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

} // namespace
} // namespace shardc::runtime
