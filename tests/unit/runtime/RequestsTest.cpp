//===- RequestsTest.cpp - Requests that run beside their caller -----------===//
#include "runtime/api/shardrt.h"
#include "tests/unit/runtime/SessionFixture.h"
#include "tests/unit/runtime/SlowProgram.h"
#include "tests/unit/runtime/TestKernels.h"

#include <random>
#include <sys/wait.h>

namespace shardc::runtime {
namespace {

using namespace std::chrono_literals;
using namespace test;

constexpr int kLong = 200; // instructions of 20 ms

/// How often a callback was called, and what with.
struct Told {
  std::atomic<int> times = 0;
  std::atomic<int> status = -1;
  std::string message;
  std::function<void()> then;

  shardrt_on_end onEnd() {
    return {[](shardrt_status status, const char *message, void *context) {
              auto &told = *static_cast<Told *>(context);
              told.status = status;
              told.message = message ? message : "";
              ++told.times;
              if (told.then)
                told.then();
            },
            this};
  }
};

class Requests : public ::testing::Test {
protected:
  explicit Requests(const ProgramBuilder &p = slowProgram(2, kLong))
      : artifact(p) {
    EXPECT_EQ(shardrt_open(artifact.path().c_str(), nullptr, &session),
              SHARDRT_OK)
        << shardrt_last_error();
  }
  ~Requests() override {
    close();
    for (shardrt_result *result : results)
      shardrt_result_destroy(result);
  }

  void close() { shardrt_close(std::exchange(session, nullptr)); }
  shardrt_result *add() {
    shardrt_result *made = nullptr;
    EXPECT_EQ(shardrt_result_create(session, &made), SHARDRT_OK);
    results.push_back(made);
    return made;
  }
  /// Of [values]; of one it is quick.
  shardrt_status submit(const std::vector<float> &values,
                        shardrt_result *result, Told &told,
                        shardrt_request **request = nullptr,
                        int64_t deadline = 0) {
    // Only data have to stay.
    const int64_t dims[] = {static_cast<int64_t>(values.size())};
    const std::string name = "x";
    const shardrt_tensor x = {name.c_str(), SHARDRT_FLOAT32, 1, dims,
                              values.data()};
    const shardrt_run_options options = {sizeof options, deadline, nullptr};
    return shardrt_submit(session, nullptr, &options, &x, 1, result,
                          told.onEnd(), request);
  }
  static float first(const shardrt_result *result) {
    shardrt_tensor z;
    return shardrt_result_output(result, 0, &z) == SHARDRT_OK
               ? static_cast<const float *>(z.data)[0]
               : -1;
  }
  static void awaitSleep() {
    const int before = timesSlept;
    while (timesSlept == before)
      std::this_thread::yield();
  }

  const std::vector<float> slow{1, 2}, quick{3}, four{4};
  TestArtifact artifact;
  shardrt_session *session = nullptr;
  std::vector<shardrt_result *> results;
};

TEST_F(Requests, endOnceWithTheirResult) {
  Told told, second;
  shardrt_result *result = add(), *other = add();
  shardrt_request *request = nullptr;
  ASSERT_EQ(submit(quick, result, told, &request), SHARDRT_OK);
  ASSERT_EQ(submit(four, other, second), SHARDRT_OK) << "without a handle";
  EXPECT_EQ(shardrt_request_wait(request), SHARDRT_OK) << shardrt_last_error();
  EXPECT_EQ(shardrt_request_is_done(request), 1);
  EXPECT_EQ(told.times, 1) << "before wait has returned";
  EXPECT_EQ(told.status, SHARDRT_OK);
  EXPECT_EQ(told.message, "");
  EXPECT_EQ(first(result), 6);
  shardrt_request_cancel(request); // too late
  EXPECT_EQ(shardrt_request_wait(request), SHARDRT_OK);
  shardrt_request_destroy(request);
  EXPECT_EQ(told.times, 1);
  while (second.times == 0)
    std::this_thread::yield();
  EXPECT_EQ(first(other), 8);
  close(); // its callback has returned
  shardrt_request_cancel(nullptr);
  shardrt_request_destroy(nullptr);
  EXPECT_EQ(shardrt_request_is_done(nullptr), 1);
  EXPECT_EQ(shardrt_request_wait(nullptr), SHARDRT_INVALID_ARGUMENT);
}

TEST_F(Requests, areRefusedWithoutACallback) {
  Told told;
  shardrt_result *result = add();
  shardrt_request *request = nullptr;
  EXPECT_EQ(submit(quick, nullptr, told, &request), SHARDRT_INVALID_ARGUMENT);
  EXPECT_EQ(submit(quick, result, told, &request, -1),
            SHARDRT_INVALID_ARGUMENT);
  shardrt_cancellation *cancellation = nullptr;
  ASSERT_EQ(shardrt_cancellation_create(&cancellation), SHARDRT_OK);
  const shardrt_run_options options = {sizeof options, 0, cancellation};
  EXPECT_EQ(shardrt_submit(session, nullptr, &options, nullptr, 0, result,
                           told.onEnd(), &request),
            SHARDRT_INVALID_ARGUMENT);
  shardrt_cancellation_destroy(cancellation);
  EXPECT_EQ(told.times, 0);
  EXPECT_EQ(request, nullptr);

  // One result is of one request at a time.
  ASSERT_EQ(submit(slow, result, told, &request), SHARDRT_OK);
  Told other;
  EXPECT_EQ(submit(quick, result, other), SHARDRT_INVALID_ARGUMENT);
  EXPECT_NE(std::string(shardrt_last_error()).find("is under way"),
            std::string::npos);
  EXPECT_EQ(shardrt_run_into(session, nullptr, nullptr, nullptr, 0, result),
            SHARDRT_INVALID_ARGUMENT);
  EXPECT_EQ(shardrt_result_unbind(result), SHARDRT_INVALID_ARGUMENT);
  shardrt_request_cancel(request);
  EXPECT_EQ(shardrt_request_wait(request), SHARDRT_CANCELLED);
  EXPECT_EQ(other.times, 0);
  shardrt_request_destroy(request);
  request = nullptr;
  ASSERT_EQ(submit(quick, result, told, &request), SHARDRT_OK);
  EXPECT_EQ(shardrt_request_wait(request), SHARDRT_OK);
  shardrt_request_destroy(request);
  EXPECT_EQ(first(result), 6);
}

TEST_F(Requests, areCancelledWhereverTheyAre) {
  Told running, waiting, late;
  shardrt_request *first = nullptr, *second = nullptr, *third = nullptr;
  ASSERT_EQ(submit(slow, add(), running, &first), SHARDRT_OK);
  awaitSleep();
  ASSERT_EQ(submit(quick, add(), waiting, &second), SHARDRT_OK);
  ASSERT_EQ(submit(quick, add(), late, &third, /*deadline=*/20), SHARDRT_OK);
  shardrt_request_cancel(second);
  EXPECT_EQ(shardrt_request_wait(second), SHARDRT_CANCELLED);
  EXPECT_EQ(waiting.status, SHARDRT_CANCELLED);
  EXPECT_EQ(waiting.message, shardrt_last_error());
  EXPECT_EQ(shardrt_request_wait(third), SHARDRT_DEADLINE);
  EXPECT_EQ(shardrt_request_is_done(first), 0);
  EXPECT_EQ(running.times, 0);
  const int before = timesSlept;
  shardrt_request_cancel(first);
  EXPECT_EQ(shardrt_request_wait(first), SHARDRT_CANCELLED);
  EXPECT_LT(timesSlept, before + kLong);
  for (shardrt_request *each : {first, second, third})
    shardrt_request_destroy(each);
  EXPECT_EQ(running.times + waiting.times + late.times, 3);
}

/// One that runs and some that wait; nothing of them is called any more once it
/// has returned.
TEST_F(Requests, endWhenTheSessionIsClosed) {
  Told told[5];
  shardrt_request *requests[5];
  for (int i = 0; i < 5; ++i)
    ASSERT_EQ(submit(slow, add(), told[i], &requests[i]), SHARDRT_OK);
  awaitSleep();
  // Whoever is told finds that nothing is taken any more.
  std::atomic<int> again = -1;
  told[4].then = [&] { again = submit(quick, results[4], told[4]); };
  close();
  EXPECT_EQ(again, SHARDRT_INVALID_ARGUMENT);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(told[i].times, 1);
    EXPECT_EQ(told[i].status, SHARDRT_CANCELLED) << told[i].message;
    EXPECT_EQ(shardrt_request_is_done(requests[i]), 1);
    shardrt_request_cancel(requests[i]);
    EXPECT_EQ(shardrt_request_wait(requests[i]), SHARDRT_CANCELLED);
    shardrt_request_destroy(requests[i]);
  }
}

/// Each callback submits the next one, with the same result, and gives back what
/// it had.
TEST_F(Requests, goOnInTheirCallbacks) {
  constexpr int kMost = 50;
  shardrt_result *result = add();
  shardrt_request *request = nullptr;
  std::mutex mutex; // of `request`, which a callback may come before
  std::atomic<bool> isOver = false;
  Told told;
  told.then = [&] {
    EXPECT_EQ(first(result), 6);
    std::lock_guard lock(mutex);
    shardrt_request_destroy(request);
    request = nullptr;
    if (told.times == kMost)
      isOver = true;
    else
      EXPECT_EQ(submit(quick, result, told, &request), SHARDRT_OK)
          << shardrt_last_error();
  };
  {
    std::lock_guard lock(mutex);
    ASSERT_EQ(submit(quick, result, told, &request), SHARDRT_OK);
  }
  while (!isOver)
    std::this_thread::yield();
  close(); // the last callback has returned
  EXPECT_EQ(told.times, kMost);
}

/// Which would be for ever: it is told instead.
TEST_F(Requests, waitForNoneOfTheirSessionInACallback) {
  Told first, second, last;
  shardrt_request *mine = nullptr, *other = nullptr, *past = nullptr;
  const std::vector<float> quick{1};
  ASSERT_EQ(submit(quick, add(), last, &past), SHARDRT_OK);
  ASSERT_EQ(shardrt_request_wait(past), SHARDRT_OK);
  std::vector<std::string> said;
  std::atomic<int> ofPast = -1;
  first.then = [&] {
    // `mine` may not be known yet: its callback came before submit returned.
    EXPECT_EQ(submit(quick, add(), second, &other), SHARDRT_OK);
    EXPECT_EQ(shardrt_request_wait(other), SHARDRT_INVALID_ARGUMENT);
    said.push_back(shardrt_last_error());
    ofPast =
        shardrt_request_wait(past); // has ended: there is nothing to wait for
    shardrt_close(session);
    said.push_back(shardrt_last_error());
  };
  ASSERT_EQ(submit(quick, add(), first, &mine), SHARDRT_OK);
  ASSERT_EQ(shardrt_request_wait(mine), SHARDRT_OK);
  ASSERT_EQ(shardrt_request_wait(other), SHARDRT_OK) << shardrt_last_error();
  ASSERT_EQ(said.size(), 2u);
  EXPECT_NE(said[0].find("a callback waits for a request of its own session"),
            std::string::npos)
      << said[0];
  EXPECT_NE(said[1].find("the session stays open"), std::string::npos)
      << said[1];
  EXPECT_EQ(ofPast, SHARDRT_OK);
  for (shardrt_request *request : {mine, other, past})
    shardrt_request_destroy(request);
}

/// As one that is closed: those that wait end one after the other on the closer's
/// thread.
TEST_F(Requests, waitForNoneWhileTheSessionIsClosed) {
  Told slow, first, second;
  const std::vector<float> values{1, 2};
  shardrt_request *other = nullptr;
  std::atomic<int> waited = -1;
  first.then = [&] { waited = shardrt_request_wait(other); };
  ASSERT_EQ(submit(values, add(), slow), SHARDRT_OK);
  awaitSleep();
  ASSERT_EQ(submit(values, add(), first), SHARDRT_OK);
  ASSERT_EQ(submit(values, add(), second, &other), SHARDRT_OK);
  close();
  EXPECT_EQ(waited, SHARDRT_INVALID_ARGUMENT);
  EXPECT_EQ(second.status, SHARDRT_CANCELLED);
  shardrt_request_destroy(other);
}

/// That of another session is waited for.
TEST_F(Requests, waitForThoseOfOtherSessionsInACallback) {
  shardrt_session *others = nullptr;
  ASSERT_EQ(shardrt_open(artifact.path().c_str(), nullptr, &others),
            SHARDRT_OK);
  shardrt_result *result = nullptr;
  ASSERT_EQ(shardrt_result_create(others, &result), SHARDRT_OK);
  Told told;
  std::atomic<int> waited = -1;
  const float one = 1;
  const int64_t dims[] = {1};
  const shardrt_tensor x = {"x", SHARDRT_FLOAT32, 1, dims, &one};
  told.then = [&] {
    shardrt_request *request = nullptr;
    EXPECT_EQ(
        shardrt_submit(others, nullptr, nullptr, &x, 1, result, {}, &request),
        SHARDRT_OK);
    waited = shardrt_request_wait(request);
    shardrt_request_destroy(request);
  };
  shardrt_request *request = nullptr;
  const std::vector<float> values{1};
  ASSERT_EQ(submit(values, add(), told, &request), SHARDRT_OK);
  EXPECT_EQ(shardrt_request_wait(request), SHARDRT_OK);
  EXPECT_EQ(waited, SHARDRT_OK);
  shardrt_request_destroy(request);
  shardrt_result_destroy(result);
  shardrt_close(others);
}

TEST_F(Requests, surviveCancelsAtAnyTime) {
  std::mt19937 random(3);
  for (int round = 0; round < 20; ++round) {
    constexpr int kCount = 8;
    Told told[kCount];
    shardrt_request *requests[kCount];
    std::vector<shardrt_result *> mine;
    for (int i = 0; i < kCount; ++i) {
      mine.push_back(add());
      ASSERT_EQ(submit(quick, mine[i], told[i], &requests[i]), SHARDRT_OK);
    }
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t)
      threads.emplace_back([&, seed = random()] {
        std::mt19937 own(seed);
        for (int i = 0; i < kCount; ++i) {
          std::this_thread::sleep_for(std::chrono::microseconds(own() % 300));
          if (own() % 2 == 0)
            shardrt_request_cancel(requests[own() % kCount]);
          (void)shardrt_request_is_done(requests[own() % kCount]);
        }
      });
    for (int i = 0; i < kCount; ++i) {
      const shardrt_status status = shardrt_request_wait(requests[i]);
      EXPECT_TRUE(status == SHARDRT_OK || status == SHARDRT_CANCELLED);
      EXPECT_EQ(told[i].status, status);
      EXPECT_EQ(told[i].times, 1);
      if (status == SHARDRT_OK) {
        EXPECT_EQ(first(mine[i]), 6);
      }
    }
    for (std::thread &thread : threads)
      thread.join();
    for (shardrt_request *each : requests)
      shardrt_request_destroy(each);
  }
}

/// Neither its threads nor its locks are there.
TEST_F(Requests, areNotOfAForkedProcess) {
  Told told, childs;
  shardrt_request *request = nullptr;
  shardrt_result *result = add(), *other = add();
  ASSERT_EQ(submit(slow, result, told, &request), SHARDRT_OK);
  awaitSleep();
  const pid_t child = fork();
  if (child == 0) {
    const bool isRefused =
        submit(quick, other, childs) == SHARDRT_ARTIFACT && childs.times == 0;
    shardrt_close(session);
    _exit(isRefused ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  shardrt_request_cancel(request);
  EXPECT_EQ(shardrt_request_wait(request), SHARDRT_CANCELLED);
  shardrt_request_destroy(request);
}

class FailingRequests : public Requests {
protected:
  FailingRequests() : Requests(program()) {}
  static ProgramBuilder program() {
    ProgramBuilder p({{"tp", 2}});
    auto n = p.symbol("n", 0, 0), c = p.coordinate(0);
    auto x = p.input("x", Float32, {p.whole(n)});
    auto z = p.value(Float32, {n});
    p.run("TestFail", {int32_t(x)}, {int32_t(z)}, {p.scalars("fail", {c})}, -1,
          "/bad/node");
    p.output("z", z, {p.whole(n)});
    return p;
  }
};

TEST_F(FailingRequests, sayWhere) {
  Told told;
  shardrt_error_info info = {};
  info.size = sizeof info;
  std::string node;
  told.then = [&] { // on its thread
    EXPECT_EQ(shardrt_last_error_info(&info), SHARDRT_OK);
    node = info.node;
  };
  shardrt_request *request = nullptr;
  const std::vector<float> bad{-1, 1};
  ASSERT_EQ(submit(bad, add(), told, &request), SHARDRT_OK);
  EXPECT_EQ(shardrt_request_wait(request), SHARDRT_ARTIFACT);
  EXPECT_EQ(info.rank, 1);
  EXPECT_EQ(node, "/bad/node");
  EXPECT_NE(told.message.find("/bad/node"), std::string::npos);
  EXPECT_EQ(told.message, shardrt_last_error());
  shardrt_request_destroy(request);
}

} // namespace
} // namespace shardc::runtime
