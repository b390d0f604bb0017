//===- thread-collectives.cpp - All_reduces of 2 to 64 threads ------------===//
//
// What an all_reduce costs a rank: time, meetings, bytes read and written by
// the rank with the most, and bytes that it reads of other groups of 8 ranks
// (ReduceTree.h). Where the machine has fewer cores than ranks, the
// counts say how it grows, and time does not.
//
//   build/bin/bench-thread-collectives
//
//===----------------------------------------------------------------------===//
#include "runtime/collectives/threads/SharedMemoryGroup.h"
#include "runtime/tensor/CopyView.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <numeric>
#include <thread>

using namespace shardc::runtime;

static constexpr int kWarmUps = 5, kRuns = 31;
using Clock = std::chrono::steady_clock;

/// Median microseconds of a run on rank 0; negative: it failed.
static double timeOf(SharedMemoryGroup &group, int ranks, int64_t bytes) {
  std::vector<double> times;
  std::atomic<bool> failed = false;
  auto body = [&](int rank) {
    auto communicator = group.join(rank);
    std::vector<float> values(static_cast<size_t>(bytes) / sizeof(float));
    int64_t dims[] = {static_cast<int64_t>(values.size())};
    const TensorView view =
        packedView(values.data(), shardc::artifact::ElementType_Float32, dims);
    for (int run = 0; run < kWarmUps + kRuns; ++run) {
      const Clock::time_point begin = Clock::now();
      if (!communicator
               ->allReduce(view, view, ReduceKind::Sum, {"bench", "", run})
               .isOk())
        failed = true;
      const std::chrono::duration<double, std::micro> time =
          Clock::now() - begin;
      if (rank == 0 && run >= kWarmUps)
        times.push_back(time.count());
    }
  };
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back(body, rank);
  for (std::thread &thread : threads)
    thread.join();
  std::nth_element(times.begin(), times.begin() + kRuns / 2, times.end());
  return failed ? -1 : times[kRuns / 2];
}

static bool measure(int ranks, int64_t bytes) {
  RunFailure failure(std::chrono::seconds(60),
                     [](int rank) { return std::to_string(rank); });
  std::vector<int> members(static_cast<size_t>(ranks));
  std::iota(members.begin(), members.end(), 0);
  SharedMemoryGroup group(members, failure);
  if (!group.allocate())
    return false;
  const double time = timeOf(group, ranks, bytes);
  const ReduceTraffic most = group.mostTraffic();
  constexpr int64_t kAll = kWarmUps + kRuns;
  std::printf("| %lld | %d | %.0f | %lld | %lld | %lld | %lld |\n",
              static_cast<long long>(bytes), ranks, time,
              static_cast<long long>(most.meetings / kAll),
              static_cast<long long>(most.bytesRead / kAll),
              static_cast<long long>(most.bytesWritten / kAll),
              static_cast<long long>(most.bytesBetween / kAll));
  return time >= 0;
}

int main() {
  std::printf("| bytes | ranks | us | meetings | read | written | between |\n"
              "|---:|---:|---:|---:|---:|---:|---:|\n");
  for (int64_t bytes : {1 << 10, 16 << 10, 32 << 10, 1 << 20})
    for (int ranks = 2; ranks <= 64; ranks *= 2)
      if (!measure(ranks, bytes))
        return 1;
  return 0;
}
