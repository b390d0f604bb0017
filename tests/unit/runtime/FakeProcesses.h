//===- FakeProcesses.h - Threads that talk as processes do ----------------===//
//
// Each thread has a transport of its own; they are connected over localhost, and
// share memory unless SHARDC_SHARED_MEMORY is 0, and then SHARDC_NETWORK counts.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_TESTS_UNIT_RUNTIME_FAKEPROCESSES_H
#define SHARDC_TESTS_UNIT_RUNTIME_FAKEPROCESSES_H

#include "runtime/session/Settings.h"
#include "runtime/transport/Transport.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace shardc::test {

inline std::vector<runtime::ProcessPlace> placesOnThisMachine(int size) {
  uint16_t port = 0;
  {
    runtime::Socket probe;
    EXPECT_TRUE(runtime::listenOn(port, probe).isOk());
  }
  std::vector<runtime::ProcessPlace> places(static_cast<size_t>(size));
  for (int rank = 0; rank < size; ++rank)
    places[static_cast<size_t>(rank)] = {rank, size,   "127.0.0.1",
                                         port, "test", "job"};
  return places;
}

/// Runs body(transport) on a thread for each rank.
template <typename Body>
void onFakeProcesses(int size, Body body,
                     runtime::TransportOptions options = {}) {
  ASSERT_TRUE(runtime::readSharedMemory(options.sharesMemory).isOk());
  ASSERT_TRUE(runtime::readNetwork(options.network).isOk());
  std::vector<std::thread> threads;
  for (const runtime::ProcessPlace &place : placesOnThisMachine(size))
    threads.emplace_back([&body, &options, place] {
      std::unique_ptr<runtime::Transport> transport;
      runtime::Status status =
          runtime::Transport::open(place, options, transport);
      ASSERT_TRUE(status.isOk()) << status.message();
      body(*transport);
    });
  for (std::thread &thread : threads)
    thread.join();
}

} // namespace shardc::test

#endif // SHARDC_TESTS_UNIT_RUNTIME_FAKEPROCESSES_H
