//===- RankProcess.h - A process that is a rank ---------------------------===//
#ifndef SHARDC_TESTS_UNIT_RUNTIME_RANKPROCESS_H
#define SHARDC_TESTS_UNIT_RUNTIME_RANKPROCESS_H

#include "runtime/api/shardrt.hpp"
#include "runtime/session/Processes.h"
#include "tests/unit/runtime/ProgramBuilder.h"

#include <csignal>
#include <functional>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace shardc::test {

/// A process that is a rank, and another one if it is killed.
class RankProcess {
public:
  using Lead = std::function<runtime::Status(runtime::Session &)>;
  /// Rank 0 does that, all others follow.
  RankProcess(const TestArtifact &artifact, const runtime::ProcessPlace &place,
              const Lead &lead = {})
      : child(fork()) {
    using namespace runtime;
    if (child != 0)
      return;
    alarm(60); // nobody waits for it for ever
    std::unique_ptr<Processes> processes;
    if (!Processes::join({place, std::chrono::seconds(10)}, processes).isOk())
      _exit(3);
    SessionOptions options;
    options.processes = processes.get();
    std::unique_ptr<Session> session;
    if (!Session::open(artifact.path(), options, session).isOk())
      _exit(4);
    end(place.rank > 0 ? session->follow() : lead(*session), session,
        processes);
  }
  ~RankProcess() { kill(); }
  RankProcess(const RankProcess &) = delete;

  void kill() {
    if (child > 0)
      ::kill(child, SIGKILL);
    (void)wait();
  }
  /// How it ended; -1: not by itself.
  int wait() {
    if (child <= 0)
      return -1;
    int status = 0;
    waitpid(std::exchange(child, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

private:
  /// As a process does that is done: others are told that it goes.
  [[noreturn]] static void end(const runtime::Status &status,
                               std::unique_ptr<runtime::Session> &session,
                               std::unique_ptr<runtime::Processes> &processes) {
    session.reset();
    const bool isOk = processes->conclude(status).isOk();
    processes.reset();
    _exit(isOk ? 0 : 5);
  }

  pid_t child;
};

} // namespace shardc::test

#endif // SHARDC_TESTS_UNIT_RUNTIME_RANKPROCESS_H
