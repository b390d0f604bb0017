//===- Wire.h - Being a hostile peer on loopback --------------------------===//
#ifndef SHARDC_TESTS_FUZZ_RUNTIME_WIRE_H
#define SHARDC_TESTS_FUZZ_RUNTIME_WIRE_H

#include "runtime/base/Hash.h"
#include "runtime/transport/Introduction.h"

#include <poll.h>
#include <sys/socket.h>

namespace shardc::fuzz {

inline constexpr char kJob[] = "job";

inline runtime::Deadline in(std::chrono::milliseconds time) {
  return std::chrono::steady_clock::now() + time;
}

/// A port that nobody listens at.
inline uint16_t freePort() {
  uint16_t port = 0;
  runtime::Socket probe;
  (void)runtime::listenOn(port, probe, "127.0.0.1");
  return port;
}

inline runtime::ProcessPlace placeOf(int rank, uint16_t port) {
  runtime::ProcessPlace place{rank, 2, "127.0.0.1", port, "fuzz", kJob};
  place.isLocal = true;
  return place;
}

/// Without the wait of TCP for what is under way: ports would run out.
inline void hangUp(runtime::Socket &socket) {
  const linger none{1, 0};
  (void)setsockopt(socket.descriptor(), SOL_SOCKET, SO_LINGER, &none,
                   sizeof none);
  socket.close();
}

/// Reads what comes until the other end hangs up, or for so long.
inline void drain(const runtime::Socket &socket,
                  std::chrono::milliseconds time) {
  char bytes[512];
  for (const runtime::Deadline until = in(time); socket.wait(POLLIN, until);)
    if (recv(socket.descriptor(), bytes, sizeof bytes, MSG_DONTWAIT) <= 0)
      return;
}

} // namespace shardc::fuzz

#endif // SHARDC_TESTS_FUZZ_RUNTIME_WIRE_H
