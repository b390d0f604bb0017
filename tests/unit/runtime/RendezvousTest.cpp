#include "runtime/collectives/threads/Rendezvous.h"

#include <gtest/gtest.h>

#include <numeric>
#include <thread>

using namespace shardc::runtime;

namespace {

/// Each member says how often it has been at a meeting before it comes to the
/// next: behind it all have said so.
template <int kMembers = 3> void meetOften(uint32_t first) {
  constexpr int kMeetings = 8;
  RunFailure failure(std::chrono::seconds(60),
                     [](int rank) { return "rank " + std::to_string(rank); });
  std::vector<int> members(kMembers);
  std::iota(members.begin(), members.end(), 0);
  Rendezvous meeting(members, failure, first);
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

/// Trees of one to four levels, full ones and others.
TEST(Rendezvous, meetsInATree) {
  meetOften<1>(0);
  meetOften<4>(0);
  meetOften<5>((uint32_t(1) << 31) - 4);
  meetOften<16>(0);
  meetOften<17>(~uint32_t(0) - 3);
  meetOften<65>(0);
}

TEST(Rendezvous, spinsOnlyWhereAllHaveCores) {
  EXPECT_TRUE(Rendezvous::maySpin(2, 2));
  EXPECT_FALSE(Rendezvous::maySpin(3, 2));
}

/// Ranks at different instructions, in one node of the tree and in two.
TEST(Rendezvous, whoIsElsewhereIsNamed) {
  for (int other : {1, 6}) {
    RunFailure failure(std::chrono::seconds(60),
                       [](int rank) { return std::to_string(rank); });
    std::vector<int> members(9);
    std::iota(members.begin(), members.end(), 0);
    Rendezvous meeting(members, failure);
    std::atomic<int> failed = 0;
    std::vector<std::thread> threads;
    for (int member = 0; member < 9; ++member)
      threads.emplace_back([&, member] {
        failed += !meeting
                       .arrive(member,
                               {"all_reduce", "node", member == other ? 8 : 7})
                       .isOk();
      });
    for (std::thread &thread : threads)
      thread.join();
    EXPECT_EQ(failed, 9);
    EXPECT_NE(failure.status().message().find("is at instruction"),
              std::string::npos);
  }
}

} // namespace
