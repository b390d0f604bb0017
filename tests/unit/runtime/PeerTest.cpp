//===- PeerTest.cpp - What a peer may not do ------------------------------===//
//
// Rank 1 is a program that has got through the handshake, and then sends what
// no rank sends.
//
//===----------------------------------------------------------------------===//
#include "runtime/session/CommandStream.h"
#include "runtime/session/SameArtifact.h"
#include "runtime/transport/Neighbours.h"
#include "runtime/transport/StreamNumbers.h"
#include "tests/unit/runtime/FakeProcesses.h"

#include <cstring>

namespace shardc::runtime {
namespace {

using namespace std::chrono_literals;

/// What rank 0 ends with when rank 1 sends these bytes; with an outbox, or not.
Status endedBy(const std::vector<std::string> &sent, bool hasOutbox = false) {
  const auto places = test::placesOnThisMachine(2);
  std::thread peer([&] {
    Meeting meeting;
    ASSERT_TRUE(meet(places[1], {.timeout = 10s, .secret = {}, .interface = ""},
                     meeting)
                    .isOk());
    Outbox outbox;
    const Status made = hasOutbox ? outbox.create() : Status::ok();
    ASSERT_TRUE(made.isOk()) << made.message();
    Neighbours found;
    ASSERT_TRUE(findNeighbours(meeting.peers, outbox, made,
                               std::chrono::steady_clock::now() + 10s, found)
                    .isOk());
    ASSERT_TRUE(connectEngine(NetworkKind::Tcp, nullptr, meeting.peers,
                              found.files,
                              std::chrono::steady_clock::now() + 10s)
                    .isOk());
    for (const std::string &bytes : sent)
      if (!meeting.peers[0].sendAll(bytes.data(), bytes.size(),
                                    std::chrono::steady_clock::now() + 5s))
        break;
    char rest[4096];
    while (meeting.peers[0].receiveAll(
        rest, 1, std::chrono::steady_clock::now() + 10s)) {
    }
  });
  Status status;
  {
    std::unique_ptr<Transport> transport;
    EXPECT_TRUE(Transport::open(places[0], {}, transport).isOk());
    status = transport->waitForEnd(1);
  }
  peer.join();
  return status;
}

std::string frame(const FrameHeader &header, const std::string &body = "") {
  return std::string(reinterpret_cast<const char *>(&header), sizeof header) +
         body;
}

bool has(const Status &status, const std::string &part) {
  return status.message().find(part) != std::string::npos;
}

TEST(Peer, anAbortIsNoSuccess) {
  for (uint64_t code : {0ull, 1ull, 4ull, 5ull, 1ull << 40}) {
    FrameHeader header{.kind = FrameKind::Abort, .bytes = 3};
    header.tag = code;
    const Status status = endedBy({frame(header, "why")});
    EXPECT_FALSE(status.isOk());
    EXPECT_EQ(status.message(), "why");
    EXPECT_EQ(status.code(),
              code == 1 ? StatusCode::Mismatch : StatusCode::Artifact);
  }
}

TEST(Peer, aMessageLargerThanTheMachineIsNone) {
  for (uint64_t bytes : {1ull << 62, 1ull << 50, ~0ull}) {
    FrameHeader header{.kind = FrameKind::Data, .stream = 20, .bytes = bytes};
    EXPECT_TRUE(has(endedBy({frame(header)}), "does not expect"));
  }
  FrameHeader text{.kind = FrameKind::Sign, .bytes = 1 << 20};
  EXPECT_TRUE(has(endedBy({frame(text)}), "does not expect"));
}

/// Where a stream has its ring: over TCP it has none, and in memory it is there,
/// as large as the stream's slots say, and said once.
TEST(Peer, aRingIsWhereMemoryIs) {
  FrameHeader header{.kind = FrameKind::Ring, .stream = 20};
  EXPECT_TRUE(has(endedBy({frame(header)}), "does not expect"));
  for (uint64_t offset : {uint64_t{1} << 40, ~uint64_t{0}, uint64_t{12}}) {
    header.tag = offset;
    EXPECT_TRUE(has(endedBy({frame(header)}, true), "does not expect"));
  }
  header.tag = 0; // it is memory, at least
  EXPECT_TRUE(has(endedBy({frame(header), frame(header)}, true), "stream 20"));
  header.kind = FrameKind::Data;
  EXPECT_TRUE(has(endedBy({frame(header)}, true), "does not expect"));
}

TEST(Peer, makesOnlySoManyStreams) {
  std::string all;
  for (uint32_t stream = 0; stream < 300; ++stream) {
    FrameHeader header{.kind = FrameKind::Data, .stream = 1000 + stream};
    header.options.slots = 4096;
    all += frame(header);
  }
  EXPECT_TRUE(has(endedBy({all}), "does not expect"));
  FrameHeader header{.kind = FrameKind::Data, .stream = 20};
  header.options.slots = 4097;
  EXPECT_TRUE(has(endedBy({frame(header)}), "does not expect"));
}

TEST(Peer, anUnknownKindOfFrameIsAnError) {
  FrameHeader header{.kind = static_cast<FrameKind>(77), .bytes = 1};
  EXPECT_TRUE(has(endedBy({frame(header, "x")}), "does not expect"));
}

/// Rank 0 answers half a difference.
TEST(Peer, anAnswerOfHalvesIsAnError) {
  test::onFakeProcesses(2, [](Transport &transport) {
    if (transport.rank() == 1) {
      ControlExchange control(transport, 10s);
      const Status status = checkSameArtifact(control, {1, 2}, "it");
      EXPECT_TRUE(has(status, "answers 15 bytes")) << status.message();
      return;
    }
    Stream &stream = transport.stream(1, kControlStream, {});
    std::byte *memory = nullptr;
    ASSERT_TRUE(stream.prepare(15, memory, std::nullopt).isOk());
    std::memset(memory, 0, 15);
    stream.commit(15, 0);
    (void)transport.waitForEnd(1);
  });
}

/// Neither half a word, nor what says that more follows than comes.
TEST(Peer, aCommandThatIsNoneIsAnError) {
  for (const std::vector<int64_t> &words :
       {std::vector<int64_t>{},
        {7},
        {7, 0, 0, 0, 0, 0, 1 << 20},
        {7, 0, 0, 0, 0, 0, 1, 1, 0, 7, 2, int64_t(1) << 40, 1 << 20},
        {7, 99, 0, 0, 0, 0, 0},
        {7, 0, 0, 0, 0, 0, 0, 5}})
    test::onFakeProcesses(2, [&](Transport &transport) {
      if (transport.rank() == 1) {
        CommandStream commands(transport, 7, 10s);
        Command command;
        std::vector<const void *> data;
        EXPECT_TRUE(has(commands.receive(command, data),
                        "sent a command that is none"));
        return;
      }
      Stream &stream =
          transport.stream(1, kCommandStream, {.slots = 4, .isOneWay = true});
      const auto bytes = static_cast<int64_t>(8 * words.size());
      std::byte *memory = nullptr;
      ASSERT_TRUE(stream.prepare(bytes, memory, std::nullopt).isOk());
      if (bytes > 0)
        std::memcpy(memory, words.data(), 8 * words.size());
      stream.commit(bytes, 0);
      (void)transport.waitForEnd(1);
    });
}

/// A rank of a later stage waits for one that waits for others.
TEST(Peer, isWaitedForAsLongAsAnyGetsOn) {
  test::onFakeProcesses(2, [](Transport &transport) {
    std::atomic<uint64_t> steps = 0;
    Stream &stream = transport.stream(1 - transport.rank(), 20, {});
    if (transport.rank() == 0) {
      // A step for each sign of life, of which there are two a second.
      transport.describe({{}, {}, [&] { return ++steps; }, {}});
      std::this_thread::sleep_for(4s);
      std::byte *memory = nullptr;
      ASSERT_TRUE(stream.prepare(1, memory, std::nullopt).isOk());
      *memory = std::byte{7};
      stream.commit(1, 0);
      EXPECT_TRUE(transport.waitForEnd(1).isOk());
      transport.describe({});
      return;
    }
    Stream *const streams[] = {&stream};
    const Status status = transport.waitPatiently(2s, [&](Deadline deadline) {
      return transport.waitForMessages(streams, deadline);
    });
    EXPECT_TRUE(status.isOk()) << status.message();
  });
}

} // namespace
} // namespace shardc::runtime
