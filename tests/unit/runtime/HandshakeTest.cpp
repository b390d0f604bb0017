//===- HandshakeTest.cpp - Who may be a rank of a run ---------------------===//
#include "runtime/transport/Interfaces.h"
#include "runtime/transport/Introduction.h"
#include "tests/unit/runtime/FakeProcesses.h"

#include <cstdio>
#include <cstring>
#include <poll.h>
#include <sys/socket.h>

namespace shardc::runtime {
namespace {

using namespace std::chrono_literals;

bool has(const Status &status, const std::string &part) {
  return status.message().find(part) != std::string::npos;
}

/// What each rank says of a meeting, where rank i has the i-th secret.
std::vector<Status> meetWith(const std::vector<std::string> &secrets,
                             std::chrono::milliseconds timeout = 10s) {
  const auto places = test::placesOnThisMachine(int(secrets.size()));
  std::vector<Status> statuses(secrets.size());
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < secrets.size(); ++rank)
    threads.emplace_back([&, rank] {
      std::unique_ptr<Transport> transport;
      statuses[rank] = Transport::open(
          places[rank], {.timeout = timeout, .secret = secrets[rank]},
          transport);
    });
  for (std::thread &thread : threads)
    thread.join();
  return statuses;
}

TEST(Handshake, theSameSecretOrNoneMeets) {
  for (const char *secret : {"", "a secret", "x"})
    for (const Status &status : meetWith({secret, secret, secret}))
      EXPECT_TRUE(status.isOk()) << status.message();
}

TEST(Handshake, aWrongOrMissingSecretIsOneClearLine) {
  std::vector<Status> found = meetWith({"right", "wrong"}, 3s);
  EXPECT_TRUE(has(found[0], "1 was turned away without the secret of the job"))
      << found[0].message();
  EXPECT_TRUE(has(found[1], "another secret of the job; set SHARDC_JOB_SECRET"))
      << found[1].message();
  found = meetWith({"right", ""}, 3s);
  EXPECT_TRUE(has(found[0], "1 was turned away")) << found[0].message();
  EXPECT_TRUE(has(found[1], "asks for the secret of the job"))
      << found[1].message();
  found = meetWith({"", "right"}, 3s);
  EXPECT_TRUE(has(found[1], "knows no secret of the job"))
      << found[1].message();
  for (const Status &status : found)
    EXPECT_EQ(status.message().find('\n'), std::string::npos);
}

/// The proof is of this connection, this end and what is said.
TEST(Handshake, aProofFitsNothingElse) {
  Nonce a, b;
  ASSERT_TRUE(drawNonce(a) && drawNonce(b));
  EXPECT_NE(a, b);
  const JobSecret secret("s"), other("t");
  const std::byte said[2] = {std::byte{1}, std::byte{2}};
  const Proof proof = secret.prove("caller", a, b, said);
  EXPECT_TRUE(isSame(proof, secret.prove("caller", a, b, said)));
  for (const Proof &wrong :
       {other.prove("caller", a, b, said), secret.prove("listener", a, b, said),
        secret.prove("caller", b, a, said),
        secret.prove("caller", a, b, {said, 1}), Proof{}})
    EXPECT_FALSE(isSame(proof, wrong));
}

/// Passes on what rank 0 and a caller say, but for two bytes to the caller.
void relay(const Socket &caller, const Socket &first, size_t at, uint16_t put) {
  const std::pair<const Socket &, const Socket &> ways[] = {{caller, first},
                                                            {first, caller}};
  const Deadline deadline = std::chrono::steady_clock::now() + 2s;
  std::byte byte;
  uint8_t two[sizeof put];
  std::memcpy(two, &put, sizeof put);
  for (size_t passed = 0;;) {
    pollfd both[] = {{caller.descriptor(), POLLIN, 0},
                     {first.descriptor(), POLLIN, 0}};
    if (poll(both, 2, 2000) <= 0)
      return;
    for (size_t way : {0, 1}) {
      if (!both[way].revents)
        continue;
      if (recv(both[way].fd, &byte, 1, 0) <= 0)
        return;
      if (way == 1) {
        if (passed >= at && passed < at + sizeof put)
          byte = std::byte{two[passed - at]};
        ++passed;
      }
      if (!ways[way].second.sendAll(&byte, 1, deadline))
        return;
    }
  }
}

/// Who passes on the proofs of both ends could have named itself as a rank.
TEST(Handshake, nobodyBetweenNamesAnotherHost) {
  auto places = test::placesOnThisMachine(3);
  Socket entry, trap;
  const uint16_t port = places[0].port;
  uint16_t entryPort = 0, trapPort = 0;
  ASSERT_TRUE(listenOn(entryPort, entry, "127.0.0.1").isOk());
  ASSERT_TRUE(listenOn(trapPort, trap, "127.0.0.1").isOk());
  std::thread between([&] {
    const Deadline soon = std::chrono::steady_clock::now() + 5s;
    Socket caller = acceptOne(entry, soon), first;
    EXPECT_TRUE(connectTo("127.0.0.1", port, soon, first).isOk());
    // An opening, the answer, the welcome, an address of 64 bytes, and the host
    // of the one behind, whose port then follows.
    const size_t at = 48 + sizeof(Answer) + 8 + 64 + 62;
    relay(caller, first, at, trapPort);
  });
  places[2].port = entryPort;
  std::vector<Status> statuses(places.size());
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < places.size(); ++rank)
    threads.emplace_back([&, rank] {
      std::unique_ptr<Transport> transport;
      statuses[rank] = Transport::open(
          places[rank], {.timeout = 3s, .secret = "a secret"}, transport);
    });
  const Socket trapped = acceptOne(trap, std::chrono::steady_clock::now() + 2s);
  for (std::thread &thread : threads)
    thread.join();
  between.join();
  EXPECT_FALSE(trapped.isOpen()) << "rank 2 called it";
  EXPECT_TRUE(has(statuses[2], "something between changes it"))
      << statuses[2].message();
}

/// HMAC-SHA-256 as RFC 2104 has it, over the parts one after the other: checked
/// against Python's hmac.
TEST(Handshake, theProofIsHmac) {
  const Proof proof = JobSecret("key").prove("caller", Nonce{}, Nonce{}, {});
  // hmac.new(b"key", b"\x06caller" + bytes(64), "sha256").hexdigest()
  std::string hex;
  for (uint8_t byte : proof) {
    char two[3];
    std::snprintf(two, sizeof two, "%02x", byte);
    hex += two;
  }
  EXPECT_EQ(hex,
            "7489cc8e0758fb216d38b50c6fde648ed376021119a25b939e1b0a74d3222d00");
}

/// Each of them used to keep all others waiting for five seconds.
TEST(Handshake, callersThatSayNothingKeepNobodyWaiting) {
  const auto places = test::placesOnThisMachine(2);
  std::vector<Socket> idle(40);
  std::thread first([&] {
    std::unique_ptr<Transport> transport;
    Status status = Transport::open(places[0], {.timeout = 20s}, transport);
    EXPECT_TRUE(status.isOk()) << status.message();
  });
  const Deadline soon = std::chrono::steady_clock::now() + 10s;
  for (size_t i = 0; i < idle.size(); ++i) {
    ASSERT_TRUE(connectTo("127.0.0.1", places[0].port, soon, idle[i]).isOk());
    const uint64_t half = kMeetingMagic; // of an opening: nothing, or a part
    if (i % 2 == 1) {
      EXPECT_TRUE(idle[i].sendAll(&half, sizeof half, soon));
    }
  }
  std::unique_ptr<Transport> transport;
  Status status = Transport::open(places[1], {.timeout = 20s}, transport);
  EXPECT_TRUE(status.isOk()) << status.message();
  first.join();
}

TEST(Handshake, localRanksListenOnLoopbackAlone) {
  const std::vector<InterfaceAddress> outside = ownAddresses();
  if (outside.empty())
    GTEST_SKIP() << "this machine has no address but loopback";
  auto places = test::placesOnThisMachine(2);
  places[0].isLocal = true;
  std::thread first([&] {
    std::unique_ptr<Transport> transport;
    (void)Transport::open(places[0], {.timeout = 2s}, transport);
  });
  Socket socket;
  const Deadline soon = std::chrono::steady_clock::now() + 5s;
  EXPECT_TRUE(connectTo("127.0.0.1", places[0].port, soon, socket).isOk());
  Socket other;
  EXPECT_FALSE(connectTo(outside[0].address, places[0].port,
                         std::chrono::steady_clock::now() + 100ms, other)
                   .isOk());
  first.join();
}

TEST(Handshake, anInterfaceIsNamedOrGivenByAddress) {
  std::string address;
  EXPECT_TRUE(findInterface("lo", address).isOk());
  EXPECT_TRUE(isLoopback(address)) << address;
  EXPECT_TRUE(findInterface("127.0.0.1", address).isOk());
  EXPECT_EQ(address, "127.0.0.1");
  Status status = findInterface("nosuch0", address);
  EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
  for (const char *part : {"SHARDC_INTERFACE", "nosuch0", "lo (127.0.0.1)"})
    EXPECT_TRUE(has(status, part)) << status.message();
  // Processes of one machine over its own address, and that one alone.
  const std::vector<InterfaceAddress> outside = ownAddresses();
  if (outside.empty())
    return;
  auto places = test::placesOnThisMachine(2);
  std::vector<std::thread> threads;
  for (auto &place : places)
    threads.emplace_back([&] {
      place.host = outside[0].address;
      std::unique_ptr<Transport> transport;
      Status met = Transport::open(
          place, {.timeout = 10s, .interface = outside[0].name}, transport);
      EXPECT_TRUE(met.isOk()) << met.message();
    });
  for (std::thread &thread : threads)
    thread.join();
}

} // namespace
} // namespace shardc::runtime
