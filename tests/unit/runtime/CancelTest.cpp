//===- CancelTest.cpp - Requests that are ended from outside --------------===//
#include "runtime/api/shardrt.h"
#include "runtime/base/QuietThread.h"
#include "tests/unit/runtime/ProcessSessions.h"
#include "tests/unit/runtime/SlowProgram.h"
#include "tests/unit/runtime/TestKernels.h"

#include <atomic>
#include <csignal>
#include <functional>
#include <unistd.h>

namespace shardc::runtime {
namespace {

using namespace std::chrono_literals;
using namespace test;

constexpr int kLong = 400; // instructions of 20 ms

const Floats slow({1, 2}, {2}), quick({1}, {1});

Status run(OpenSession &s, const Floats &x, const RunOptions &options = {}) {
  const InputTensor inputs[] = {x.as("x")};
  return s.session->run(inputs, s.outputs, options);
}

/// Ends a slow run, and nothing else.
void expectEnds(OpenSession &s, StatusCode code, const std::string &why,
                const RunOptions &options) {
  const int before = timesSlept;
  const Status status = run(s, slow, options);
  EXPECT_EQ(status.code(), code) << status.message();
  EXPECT_NE(status.message().find(why), std::string::npos) << status.message();
  EXPECT_LT(timesSlept, before + kLong) << "it did not run to its end";
  EXPECT_FALSE(s.session->isLost());
  const Status next = run(s, quick, {.deadline = 1min});
  ASSERT_TRUE(next.isOk()) << next.message();
  EXPECT_EQ(s.floats(0)[0], 2);
}

void expectCancelledAndLate(OpenSession &s) {
  for (int round = 0; round < 3; ++round) {
    auto cancellation = std::make_shared<Cancellation>();
    std::thread other([&] {
      std::this_thread::sleep_for(30ms);
      cancellation->cancel();
    });
    expectEnds(s, StatusCode::Cancelled, "was cancelled",
               {.cancellation = cancellation});
    other.join();
    EXPECT_TRUE(cancellation->isCancelled());
    EXPECT_EQ(run(s, quick, {.cancellation = cancellation}).code(),
              StatusCode::Cancelled)
        << "at once";
    expectEnds(s, StatusCode::Deadline, "deadline of 30 ms",
               {.deadline = 30ms});
  }
}

TEST(Cancel, endsARequestOfThreads) {
  TestArtifact artifact(slowProgram(2, kLong));
  OpenSession s(artifact);
  expectCancelledAndLate(s);
}

TEST(Cancel, endsARequestOfProcesses) {
  TestArtifact artifact(slowProgram(2, kLong));
  onProcessSessions(artifact, 2, expectCancelledAndLate);
}

/// Who waits for its turn need not come to it.
TEST(Cancel, endsAlsoWhatHasNotBegun) {
  TestArtifact artifact(slowProgram(2, kLong));
  OpenSession s(artifact);
  auto first = std::make_shared<Cancellation>();
  std::atomic<bool> isOver = false;
  const int before = timesSlept;
  std::thread other([&] {
    std::vector<Tensor> outputs(1);
    const InputTensor inputs[] = {slow.as("x")};
    EXPECT_EQ(s.session->run(inputs, outputs, {.cancellation = first}).code(),
              StatusCode::Cancelled);
    isOver = true;
  });
  while (timesSlept == before)
    std::this_thread::yield();
  EXPECT_EQ(run(s, quick, {.deadline = 10ms}).code(), StatusCode::Deadline);
  EXPECT_FALSE(isOver) << "the one before still runs";
  first->cancel();
  other.join();
  EXPECT_TRUE(run(s, quick).isOk());
}

TEST(Cancel, throughTheCApi) {
  TestArtifact artifact(slowProgram(2, kLong));
  shardrt_session *session = nullptr;
  ASSERT_EQ(shardrt_open(artifact.path().c_str(), nullptr, &session),
            SHARDRT_OK);
  shardrt_cancellation *cancellation = nullptr;
  ASSERT_EQ(shardrt_cancellation_create(&cancellation), SHARDRT_OK);
  shardrt_run_options options = {sizeof options, 0, cancellation};
  const shardrt_tensor x{"x", SHARDRT_FLOAT32, 1, slow.dims.data(),
                         slow.values.data()};
  const shardrt_tensor one{"x", SHARDRT_FLOAT32, 1, quick.dims.data(),
                           quick.values.data()};
  EXPECT_EQ(shardrt_run_with(session, nullptr, &options, &one, 1), SHARDRT_OK);
  std::thread other([&] {
    std::this_thread::sleep_for(20ms);
    shardrt_cancel(cancellation);
  });
  EXPECT_EQ(shardrt_run_with(session, nullptr, &options, &x, 1),
            SHARDRT_CANCELLED);
  other.join();
  options = {offsetof(shardrt_run_options, cancellation), 20, cancellation};
  EXPECT_EQ(shardrt_run_with(session, nullptr, &options, &x, 1),
            SHARDRT_DEADLINE)
      << "an older caller has no cancellation";
  EXPECT_NE(std::string(shardrt_last_error()).find("20 ms"), std::string::npos);
  options.size = 0;
  EXPECT_EQ(shardrt_run_with(session, nullptr, &options, &one, 1),
            SHARDRT_INVALID_ARGUMENT);
  options = {sizeof options, -1, nullptr};
  EXPECT_EQ(shardrt_run_with(session, nullptr, &options, &one, 1),
            SHARDRT_INVALID_ARGUMENT);
  EXPECT_EQ(shardrt_run_with(session, nullptr, nullptr, &one, 1), SHARDRT_OK);
  EXPECT_EQ(shardrt_is_lost(session), 0);
  shardrt_cancel(nullptr);
  shardrt_cancellation_destroy(cancellation);
  shardrt_close(session);
}

//===----------------------------------------------------------------------===//
// Signals
//===----------------------------------------------------------------------===//

std::atomic<int> handled = 0;
std::atomic<bool> wasElsewhere = false;
std::thread::id whoRuns;

/// Its handler runs where the program expects it, and not on a rank's thread.
TEST(Signals, areTheCallersOwn) {
  TestArtifact artifact(slowProgram(2, kLong));
  OpenSession s(artifact);
  ASSERT_TRUE(
      run(s, quick, {.deadline = 1min}).isOk()); // all threads are there
  sigset_t usr1, before;
  sigemptyset(&usr1);
  sigaddset(&usr1, SIGUSR1);
  struct sigaction action = {}, earlier = {};
  action.sa_handler = [](int) {
    ++handled;
    if (std::this_thread::get_id() != whoRuns)
      wasElsewhere = true;
  };
  handled = 0;
  whoRuns = std::this_thread::get_id();
  ASSERT_EQ(sigaction(SIGUSR1, &action, &earlier), 0);
  pthread_sigmask(SIG_BLOCK, &usr1, &before);
  kill(getpid(), SIGUSR1); // to whichever thread takes it
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(handled, 0);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  EXPECT_EQ(handled, 1);
  // And one that comes again and again ends no wait.
  std::atomic<bool> isOver = false;
  std::thread other = quietThread([&, main = pthread_self()] {
    while (!isOver) {
      pthread_kill(main, SIGUSR1);
      std::this_thread::sleep_for(1ms);
    }
  });
  EXPECT_EQ(run(s, slow, {.deadline = 100ms}).code(), StatusCode::Deadline);
  EXPECT_TRUE(run(s, quick).isOk());
  onProcessSessions(artifact, 2, [](OpenSession &own) {
    EXPECT_TRUE(run(own, quick).isOk());
  });
  isOver = true;
  other.join();
  EXPECT_FALSE(wasElsewhere);
  sigaction(SIGUSR1, &earlier, nullptr);
}

/// Of the library's, SIGBUS aside, which base/FileGuard.h says why.
TEST(Signals, handlersStayAsTheyAre) {
  std::vector<struct sigaction> before(SIGRTMIN);
  for (int signal = 1; signal < SIGRTMIN; ++signal)
    sigaction(signal, nullptr, &before[size_t(signal)]);
  TestArtifact artifact(slowProgram(2, kLong));
  onProcessSessions(artifact, 2, [](OpenSession &s) {
    EXPECT_TRUE(run(s, quick, {.deadline = 1min}).isOk());
  });
  for (int signal = 1; signal < SIGRTMIN; ++signal) {
    struct sigaction now = {};
    sigaction(signal, nullptr, &now);
    if (signal != SIGBUS) {
      EXPECT_EQ(now.sa_handler, before[size_t(signal)].sa_handler) << signal;
    }
  }
}

} // namespace
} // namespace shardc::runtime
