#include "runtime/base/ThreadTeam.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <set>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
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

/// The sum of what four units of work say, by a team.
int sumOfUnits() {
  setTeamThreads(3);
  std::atomic<int> next = 0, sum = 0;
  runOnTeam(3, [&](int64_t) {
    for (int unit; (unit = next.fetch_add(1)) < 4;)
      sum += unit;
  });
  return sum;
}

/// Returns when so many threads of a team have been at work at the same time.
void meet(int count) {
  std::atomic<int> here = 0;
  runOnTeam(count, [&](int64_t) {
    for (++here; here < count;)
      std::this_thread::yield();
  });
}

/// How a child ends in which `body` runs; -1: it did not end by itself.
template <typename Body> int inChild(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60); // a child that waits for ever would not end the test
    body();
    _exit(99);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// exit() ends what the thread has, its team too: in the main thread, and in one
/// that is the child's only one.
TEST_F(ThreadTeams, AChildThatExitsWaitsForNoHelper) {
  ASSERT_EQ(sumOfUnits(), 6);
  EXPECT_EQ(inChild([] { std::exit(7); }), 7);
  int ended = 0;
  std::thread([&] {
    ASSERT_EQ(sumOfUnits(), 6);
    ended = inChild([] { std::exit(8); });
  }).join();
  EXPECT_EQ(ended, 8);
  EXPECT_EQ(sumOfUnits(), 6) << "the parent's go on";
}

TEST_F(ThreadTeams, AChildHasTeamsOfItsOwn) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the thread sanitizer knows no threads that a child of "
                  "several starts (die_after_fork)";
#endif
  ASSERT_EQ(sumOfUnits(), 6);
  // A helper that has yet to start would allocate meanwhile, and GCC's address
  // sanitizer gives a child its allocator as locked as it is then.
  meet(3);
  EXPECT_EQ(inChild([] {
              const int sum = sumOfUnits();
              meet(2); // who helps is there
              std::exit(sum);
            }),
            6);
}

/// A fork within what a team does: the child goes on alone.
TEST_F(ThreadTeams, AChildOfWorkGoesOnAlone) {
  setTeamThreads(2);
  int ended = 0;
  std::atomic<bool> isIn = false, isOver = false;
  runOnTeam(2, [&](int64_t thread) {
    if (thread == 1) { // is at it when the other one forks
      isIn = true;
      while (!isOver)
        std::this_thread::yield();
      return;
    }
    while (!isIn)
      std::this_thread::yield();
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      return;
    }
    int status = 0;
    waitpid(child, &status, 0);
    ended = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    isOver = true;
  });
  if (!isOver)
    std::exit(5);
  EXPECT_EQ(ended, 5);
}

} // namespace
} // namespace shardc::runtime
