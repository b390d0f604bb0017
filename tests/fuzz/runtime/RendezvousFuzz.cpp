//===- RendezvousFuzz.cpp - Any bytes before ranks know each other --------===//
//
// The first byte says who is meant, and whether the job has a secret:
//   even  a stranger calls rank 0
//   odd   a stranger is where rank 1 looks for rank 0
//   +2    with a secret, which the stranger does not know; it cannot be a rank,
//         nor keep rank 1 away, which calls rank 0 after it
//
//===----------------------------------------------------------------------===//
#include "runtime/transport/Meeting.h"
#include "tests/fuzz/runtime/Wire.h"

#include <cstdlib>
#include <thread>

namespace shardc::fuzz {
namespace {

using namespace runtime;
using namespace std::chrono_literals;

Status meetAs(int rank, uint16_t port, const std::string &secret,
              std::chrono::milliseconds timeout, Meeting &meeting) {
  return meet(placeOf(rank, port), {timeout, JobSecret(secret), ""}, meeting);
}

/// Without the wait for what is under way.
void close(Meeting &meeting) {
  for (Socket &peer : meeting.peers)
    if (peer.isOpen())
      hangUp(peer);
}

void callRank0(const uint8_t *data, size_t size, const std::string &secret) {
  const uint16_t port = freePort();
  const bool isProved = !secret.empty();
  const auto timeout = isProved ? 3000ms : 30ms;
  Meeting first, second;
  Status found = Status::ok();
  std::thread rank0([&] { found = meetAs(0, port, secret, timeout, first); });
  Socket stranger;
  if (connectTo("127.0.0.1", port, in(timeout), stranger).isOk()) {
    (void)stranger.sendAll(data, size, in(100ms));
    shutdown(stranger.descriptor(), SHUT_WR);
  }
  if (isProved)
    (void)meetAs(1, port, secret, timeout, second);
  rank0.join();
  if (stranger.isOpen())
    hangUp(stranger);
  close(first);
  close(second);
  if (isProved && found.message().find("two processes") != std::string::npos)
    std::abort();
}

void answerRank1(const uint8_t *data, size_t size, const std::string &secret) {
  uint16_t port = 0;
  Socket listener;
  if (!listenOn(port, listener, "127.0.0.1").isOk())
    return;
  Meeting meeting;
  Status status = Status::ok();
  std::thread rank1([&] { status = meetAs(1, port, secret, 1000ms, meeting); });
  Socket caller = acceptOne(listener, in(1s));
  if (caller.isOpen()) {
    (void)caller.sendAll(data, size, in(100ms));
    shutdown(caller.descriptor(), SHUT_WR);
  }
  rank1.join();
  if (caller.isOpen())
    hangUp(caller);
  close(meeting);
  if (!secret.empty() && status.isOk())
    std::abort(); // it believed somebody who does not know the secret
}

} // namespace
} // namespace shardc::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0)
    return 0;
  const std::string secret = data[0] & 2 ? "secret" : "";
  if (data[0] & 1)
    shardc::fuzz::answerRank1(data + 1, size - 1, secret);
  else
    shardc::fuzz::callRank0(data + 1, size - 1, secret);
  return 0;
}
