#include "runtime/plan/ArenaPlanner.h"

#include "runtime/base/AlignedBuffer.h"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <random>

namespace shardc::runtime {
namespace {

/// Most bytes that live at one time: no plan can be smaller.
int64_t lowerBound(const std::vector<ArenaRequest> &requests, uint32_t end) {
  std::vector<int64_t> change(end + 2);
  for (const ArenaRequest &request : requests) {
    change[request.first] += alignBuffer(request.bytes);
    change[request.last + 1] -= alignBuffer(request.bytes);
  }
  int64_t live = 0, most = 0;
  for (int64_t delta : change)
    most = std::max(most, live += delta);
  return most;
}

/// No two live at one time share a byte: sweeps over the instructions, with
/// what lives by its place.
void expectSound(const std::vector<ArenaRequest> &requests,
                 const ArenaLayout &layout) {
  ASSERT_EQ(layout.offsets.size(), requests.size());
  std::vector<size_t> order;
  for (size_t i = 0; i < requests.size(); ++i) {
    ASSERT_GE(layout.offsets[i], 0);
    ASSERT_EQ(layout.offsets[i] % kBufferAlignment, 0);
    ASSERT_LE(layout.offsets[i] + requests[i].bytes, layout.bytes);
    if (requests[i].bytes > 0)
      order.push_back(i);
  }
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return requests[a].first < requests[b].first;
  });
  std::map<int64_t, size_t> live;
  std::multimap<uint32_t, int64_t> ends; ///< places by last instruction
  for (size_t i : order) {
    while (!ends.empty() && ends.begin()->first < requests[i].first) {
      live.erase(ends.begin()->second);
      ends.erase(ends.begin());
    }
    const int64_t begin = layout.offsets[i], end = begin + requests[i].bytes;
    const auto next = live.lower_bound(begin);
    ASSERT_TRUE(next == live.end() || next->first >= end)
        << i << " and " << next->second;
    if (next != live.begin()) {
      const size_t before = std::prev(next)->second;
      ASSERT_LE(layout.offsets[before] + requests[before].bytes, begin)
          << i << " and " << before;
    }
    live[begin] = i;
    ends.emplace(requests[i].last, begin);
  }
}

/// The check itself sees what it is for.
TEST(ArenaPlanner, overlapsAreSeen) {
  static const std::vector<ArenaRequest> requests = {{128, 0, 2}, {64, 2, 3}};
  static const std::vector<ArenaRequest> others = {{64, 0, 2}, {128, 1, 3}};
  static const ArenaLayout inside = {{0, 64}, 128}, behind = {{64, 0}, 192},
                           beyond = {{64, 0}, 128};
  EXPECT_FATAL_FAILURE(expectSound(requests, inside), "1 and 0");
  EXPECT_FATAL_FAILURE(expectSound(others, beyond), "1 and 0");
  EXPECT_FATAL_FAILURE(expectSound(requests, beyond), "layout.bytes");
  expectSound(requests, behind);
  expectSound({{128, 0, 1}, {64, 2, 3}}, inside);
}

std::vector<ArenaRequest> randomRequests(std::mt19937 &random, int count,
                                         uint32_t end, uint32_t longest,
                                         int64_t largest) {
  std::vector<ArenaRequest> requests;
  for (int i = 0; i < count; ++i) {
    uint32_t first = static_cast<uint32_t>(random() % end);
    uint32_t last = first + static_cast<uint32_t>(random() % longest);
    int64_t bytes =
        random() % 8 == 0
            ? 0
            : static_cast<int64_t>(random() % static_cast<uint64_t>(largest));
    requests.push_back({bytes, first, std::min(last, end - 1)});
  }
  return requests;
}

TEST(ArenaPlanner, reusesMemoryOfTheDead) {
  ArenaLayout layout = planArena(
      std::vector<ArenaRequest>{{128, 0, 1}, {64, 1, 2}, {128, 2, 3}});
  EXPECT_EQ(layout.bytes, 192);
  EXPECT_EQ(layout.offsets[0], layout.offsets[2]);
}

TEST(ArenaPlanner, nothingNeedsNothing) {
  EXPECT_EQ(planArena({}).bytes, 0);
  EXPECT_EQ(planArena(std::vector<ArenaRequest>{{0, 0, 9}}).bytes, 0);
}

TEST(ArenaPlanner, neverOverlapsLiveBuffers) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    uint32_t end = 1 + static_cast<uint32_t>(random() % 60);
    auto requests =
        randomRequests(random, static_cast<int>(random() % 80), end,
                       1 + static_cast<uint32_t>(random() % 20), 5000);
    expectSound(requests, planArena(requests));
  }
}

TEST(ArenaPlanner, isCloseToTheLowerBound) {
  std::mt19937 random(11);
  auto requests = randomRequests(random, 2000, 1000, 6, 100000);
  EXPECT_LE(static_cast<double>(planArena(requests).bytes),
            1.15 * static_cast<double>(lowerBound(requests, 1000)));
}

TEST(ArenaPlanner, isSoundWhereGreedyIsTooSlow) {
  std::mt19937 random(3);
  auto requests = randomRequests(random, 3000, 3000, 3000, 4096);
  expectSound(requests, planArena(requests));
}

/// So many take milliseconds, or minutes where a plan looks at pairs.
TEST(ArenaPlanner, isSoundForTwentyThousandBuffers) {
  std::mt19937 random(5);
  for (uint32_t longest : {8u, 20000u}) {
    auto requests = randomRequests(random, 20000, 20000, longest, 1 << 20);
    const ArenaLayout layout = planArena(requests);
    expectSound(requests, layout);
    EXPECT_GE(layout.bytes, lowerBound(requests, 20000));
  }
}

TEST(ArenaMemo, keepsTheLayoutOfSizesThatHardlyChange) {
  std::mt19937 random(13);
  ArenaMemo memo;
  auto requests = randomRequests(random, 80, 60, 10, 100000);
  std::vector<int64_t> before;
  int changes = 0;
  for (int step = 0; step < 64; ++step) {
    const ArenaLayout &layout = memo.plan(requests);
    expectSound(requests, layout);
    EXPECT_LE(static_cast<double>(layout.bytes),
              1.2 * static_cast<double>(planArena(requests).bytes));
    changes += layout.offsets != before;
    before = layout.offsets;
    requests[0].bytes += 4;
  }
  EXPECT_LE(changes, 6) << "64 bytes of change are no reason";
  requests[0].bytes *= 2;
  expectSound(requests, memo.plan(requests));
}

} // namespace
} // namespace shardc::runtime
