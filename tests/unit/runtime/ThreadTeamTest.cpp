#include "runtime/base/ThreadTeam.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace shardc::runtime {
namespace {

class ThreadTeams : public testing::Test {
protected:
  void TearDown() override { setTeamThreads(1); }
};

TEST_F(ThreadTeams, UnitsAreTakenOnceEach) {
  for (int threads : {1, 2, 5, 3}) {
    setTeamThreads(threads);
    for (int round = 0; round < 500; ++round) {
      std::atomic<int> next = 0;
      std::vector<int> calls(64);
      runOnTeam(threads, [&](int64_t thread) {
        EXPECT_LT(thread, threads);
        for (int unit; (unit = next.fetch_add(1)) < 64;)
          ++calls[static_cast<size_t>(unit)];
      });
      EXPECT_EQ(calls, std::vector<int>(64, 1));
    }
  }
}

TEST_F(ThreadTeams, HelpersHaveNumbersOfTheirOwn) {
  setTeamThreads(4);
  std::mutex mutex;
  std::set<int64_t> numbers;
  runOnTeam(3, [&](int64_t thread) {
    const std::lock_guard lock(mutex);
    EXPECT_TRUE(numbers.insert(thread).second);
    EXPECT_LT(thread, 3);
  });
  EXPECT_TRUE(numbers.contains(0));
}

TEST_F(ThreadTeams, HelpersComeWhileThereIsWork) {
  setTeamThreads(3);
  for (int pause : {0, 1, 30}) { // they are awake, or asleep
    std::this_thread::sleep_for(std::chrono::milliseconds(pause));
    std::atomic<int> here = 0;
    runOnTeam(3, [&](int64_t) {
      for (++here; here < 3;)
        std::this_thread::yield();
    });
    EXPECT_EQ(here, 3);
  }
}

TEST_F(ThreadTeams, WhatIsInsideHasOneThread) {
  setTeamThreads(2);
  std::atomic<int> calls = 0;
  runOnTeam(2, [&](int64_t) {
    EXPECT_EQ(teamThreads(), 1);
    runOnTeam(2, [&](int64_t thread) {
      EXPECT_EQ(thread, 0);
      ++calls;
    });
  });
  EXPECT_GE(calls, 1);
  EXPECT_EQ(teamThreads(), 2);
}

TEST_F(ThreadTeams, NobodyWaitsForHelpersThatHaveNotBegun) {
  setTeamThreads(2);
  // One that is still at the work before this is waited for...
  std::atomic<bool> isIn = false, isOut = false;
  runOnTeam(2, [&](int64_t thread) {
    if (thread == 0)
      while (!isIn)
        std::this_thread::yield();
    isIn = true;
    if (thread == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      isOut = true;
    }
  });
  EXPECT_TRUE(isOut);
  // ... and what there is is done by who is there, many times over.
  const auto begin = std::chrono::steady_clock::now();
  int done = 0;
  for (int round = 0; round < 1000; ++round)
    runOnTeam(2, [&](int64_t thread) {
      if (thread == 0)
        ++done;
    });
  EXPECT_EQ(done, 1000);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

TEST_F(ThreadTeams, EachThreadHasItsOwn) {
  std::atomic<int> sum = 0;
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 3; ++caller)
    callers.emplace_back([&] {
      EXPECT_EQ(teamThreads(), 1);
      setTeamThreads(2);
      for (int round = 0; round < 200; ++round) {
        std::atomic<int> next = 0;
        runOnTeam(2, [&](int64_t) {
          while (next.fetch_add(1) < 10)
            ++sum;
        });
      }
    });
  for (std::thread &caller : callers)
    caller.join();
  EXPECT_EQ(sum, 3 * 200 * 10);
}

} // namespace
} // namespace shardc::runtime
