//===- CollectiveRanks.h - Ranks for tests of all communicators -----------===//
#ifndef SHARDC_TESTS_UNIT_RUNTIME_COLLECTIVERANKS_H
#define SHARDC_TESTS_UNIT_RUNTIME_COLLECTIVERANKS_H

#include "runtime/collectives/net/NetworkCommunicator.h"
#include "runtime/collectives/threads/SharedMemoryGroup.h"
#include "runtime/tensor/CopyView.h"
#include "tests/unit/runtime/FakeProcesses.h"

#include <gtest/gtest.h>

#include <numeric>
#include <thread>

namespace shardc::runtime {

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
    body(communicator);
    EXPECT_FALSE(transport.failed()) << transport.failure().message();
  });
}

template <typename Body> void onRanks(int ranks, Body body) {
  onThreads(ranks, body);
  onProcesses(ranks, body);
}

inline constexpr CollectiveSite kSite{"all_reduce", "node", 0};

/// Blocks of a dim of `size` by floor splitting, some of them empty.
inline std::vector<OwnedRuns> blocksOf(int64_t size, int ranks,
                                       bool interleaved) {
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

} // namespace shardc::runtime

#endif // SHARDC_TESTS_UNIT_RUNTIME_COLLECTIVERANKS_H
