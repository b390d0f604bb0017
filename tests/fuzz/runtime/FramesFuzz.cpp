//===- FramesFuzz.cpp - Any bytes of a process that is a rank of the run --===//
//
// The other rank has introduced itself; what it sends then are the bytes.
//
//===----------------------------------------------------------------------===//
#include "runtime/transport/EngineOffer.h"
#include "runtime/transport/Neighbours.h"
#include "runtime/transport/Transport.h"
#include "tests/fuzz/runtime/Wire.h"

#include <algorithm>
#include <array>
#include <cstdlib>

namespace shardc::fuzz {
namespace {

using namespace runtime;
using namespace std::chrono_literals;

/// Connected as rank 1 of 2, on another machine.
Socket enter(uint16_t port) {
  Socket socket;
  Hello hello;
  hello.job = XXH3_64bits(kJob, sizeof kJob - 1);
  hello.rank = 1;
  hello.size = 2;
  hello.numCores = 1;
  Nonces nonces;
  const Deadline deadline = in(5s);
  if (!connectTo("127.0.0.1", port, deadline, socket).isOk() ||
      !introduce(socket, {}, hello, deadline, nonces).isOk() ||
      !receiveAnswer(socket, {}, nonces, deadline).isOk())
    return Socket();
  // Where this one is known the rest goes well, or what follows tests nothing.
  std::array<char, 8 + 2 * 64 + sizeof(Proof)> welcome; // of no use here
  std::vector<Socket> peers(2);
  Neighbours none;
  bool isIn = socket.receiveAll(welcome.data(), welcome.size(), deadline);
  peers[0] = std::move(socket);
  isIn = isIn &&
         findNeighbours(peers, Outbox(), Status::ok(), deadline, none).isOk() &&
         connectEngine(NetworkKind::Tcp, nullptr, peers, none.files, deadline)
             .isOk();
  if (!isIn)
    std::abort();
  return std::move(peers[0]);
}

/// Takes messages as long as some come, and touches all their bytes.
void receiveAll(Transport &transport) {
  std::array<Stream *, 4> streams;
  // So that some streams are made by what arrives.
  (void)transport.wait([] { return false; }, in(10ms));
  for (uint32_t i = 0; i < streams.size(); ++i)
    streams[i] = &transport.stream(1, i, {});
  const auto hasAny = [&] {
    return std::any_of(streams.begin(), streams.end(),
                       [](const Stream *s) { return s->hasArrived(); });
  };
  int sum = 0;
  while (transport.wait(hasAny, in(5ms)).isOk())
    for (Stream *stream : streams)
      while (stream->hasArrived()) {
        for (std::byte byte : stream->front().bytes)
          sum += std::to_integer<int>(byte);
        stream->release();
      }
  static volatile int read;
  read = sum;
  (void)transport.rankTextWithPlace(1);
  (void)transport.failure();
}

} // namespace
} // namespace shardc::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace shardc::fuzz;
  const uint16_t port = freePort();
  std::unique_ptr<Transport> transport;
  std::thread opens([&] {
    const TransportOptions options{.timeout = 5s, .silence = 0ms};
    (void)Transport::open(placeOf(0, port), options, transport);
  });
  Socket peer = enter(port);
  opens.join();
  if (!transport || !peer.isOpen())
    return 0; // no port, or no socket
  std::thread sends([&] { (void)peer.sendAll(data, size, in(1s)); });
  receiveAll(*transport);
  sends.join();
  hangUp(peer);
  return 0;
}
