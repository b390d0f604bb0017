#include "runtime/collectives/threads/Rendezvous.h"

#include <gtest/gtest.h>

#include <thread>

using namespace shardc::runtime;

namespace {

/// Each member says how often it has been at a meeting before it comes to the
/// next: behind it all have said so.
void meetOften(uint32_t first) {
  constexpr int kMembers = 3, kMeetings = 8;
  RunFailure failure(std::chrono::seconds(60),
                     [](int rank) { return "rank " + std::to_string(rank); });
  Rendezvous meeting({0, 1, 2}, failure, first);
  std::atomic<int> said[kMembers] = {};
  std::atomic<int> early = 0, failed = 0;
  std::vector<std::thread> threads;
  for (int member = 0; member < kMembers; ++member)
    threads.emplace_back([&, member] {
      for (int i = 1; i <= kMeetings; ++i) {
        const uint32_t round = meeting.round();
        said[member].store(i);
        failed += !meeting.arrive(member, {"all_reduce", "node", i}).isOk();
        for (const auto &other : said)
          early += other.load() < i;
        failed += ((meeting.round() ^ round) & 1) != 1;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(early, 0);
  EXPECT_EQ(failed, 0);
}

/// Hours of decoding: the number of a meeting must never be taken for an abort,
/// after which collectives end at once, and without an error.
TEST(Rendezvous, meetsForEver) {
  meetOften(0);
  meetOften((uint32_t(1) << 30) - 4);
  meetOften((uint32_t(1) << 31) - 4);
  meetOften(~uint32_t(0) - 3);
}

} // namespace
