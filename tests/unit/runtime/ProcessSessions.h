//===- ProcessSessions.h - Sessions of processes that are threads ---------===//
#ifndef SHARDC_TESTS_UNIT_RUNTIME_PROCESSSESSIONS_H
#define SHARDC_TESTS_UNIT_RUNTIME_PROCESSSESSIONS_H

#include "runtime/session/Processes.h"
#include "tests/unit/runtime/FakeProcesses.h"
#include "tests/unit/runtime/SessionFixture.h"

namespace shardc::test {

/// Each thread is a rank with a session of its own; rank 0 does `lead(session)`,
/// and all others follow until that is over, well.
template <typename Lead>
void onProcessSessions(
    const TestArtifact &artifact, int size, Lead lead,
    std::chrono::milliseconds timeout = std::chrono::seconds(10)) {
  std::vector<std::thread> threads;
  for (const runtime::ProcessPlace &place : placesOnThisMachine(size))
    threads.emplace_back([&, place] {
      std::unique_ptr<runtime::Processes> processes;
      ASSERT_TRUE(runtime::Processes::join({place, timeout}, processes).isOk());
      runtime::SessionOptions options;
      options.processes = processes.get();
      options.timeout = timeout;
      OpenSession own(artifact, options);
      ASSERT_TRUE(own.session);
      if (place.rank == 0) {
        lead(own);
        own.session.reset();
      } else {
        const runtime::Status status = own.session->follow();
        EXPECT_TRUE(status.isOk()) << status.message();
      }
      EXPECT_TRUE(processes->conclude(runtime::Status::ok()).isOk());
    });
  for (std::thread &thread : threads)
    thread.join();
}

} // namespace shardc::test

#endif // SHARDC_TESTS_UNIT_RUNTIME_PROCESSSESSIONS_H
