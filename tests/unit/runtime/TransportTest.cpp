//===- TransportTest.cpp - Messages, and who is gone ----------------------===//
#include "runtime/base/Message.h"
#include "runtime/collectives/net/NetworkChannel.h"
#include "runtime/collectives/net/NetworkCommunicator.h"
#include "runtime/collectives/threads/Rendezvous.h"
#include "runtime/tensor/CopyView.h"
#include "tests/unit/runtime/FakeProcesses.h"

#include <array>
#include <atomic>
#include <cstring>

namespace shardc::runtime {
namespace {

using namespace std::chrono_literals;
using test::onFakeProcesses;

bool has(const Status &status, const std::string &part) {
  return status.message().find(part) != std::string::npos;
}

TensorView viewOf(std::vector<float> &values) {
  const auto size = static_cast<int64_t>(values.size());
  return packedView(values.data(), artifact::ElementType_Float32, {&size, 1});
}

const CollectiveSite kSite{"receive", "/layer", 3};

TEST(Transport, KeepsTheOrderOfEachStreamAndAddsNoSlots) {
  std::atomic<int> sent = 0;
  onFakeProcesses(2, [&](Transport &transport) {
    RunFailure failure(10s, {});
    const int other = 1 - transport.rank();
    const StreamOptions options{.slots = 3, .isOneWay = true};
    NetworkChannel first(transport, transport.stream(other, 20, options)),
        second(transport, transport.stream(other, 21, options));
    std::vector<float> values(5);
    if (transport.rank() == 0) {
      for (int i = 0; i < 50; ++i, ++sent) {
        values[0] = float(i);
        ASSERT_TRUE(first.send(viewOf(values), failure, kSite).isOk());
      }
      ASSERT_TRUE(second.send(viewOf(values), failure, kSite).isOk());
      return;
    }
    std::this_thread::sleep_for(50ms);
    EXPECT_LE(sent, 3);
    for (int i = 0; i < 50; ++i) {
      ASSERT_TRUE(first.receive(viewOf(values), failure, kSite).isOk());
      EXPECT_EQ(values[0], float(i));
    }
    ASSERT_TRUE(second.receive(viewOf(values), failure, kSite).isOk());
  });
}

TEST(Transport, MessagesOfAllSizes) {
  onFakeProcesses(2, [](Transport &transport) {
    RunFailure failure(10s, {});
    NetworkChannel channel(transport,
                           transport.stream(1 - transport.rank(), 20, {}));
    for (size_t size : {0ul, 1ul, 16'383ul, 16'384ul, 5'000'000ul, 3ul}) {
      std::vector<float> values(size, float(size)), found(size);
      ASSERT_TRUE(channel.send(viewOf(values), failure, kSite).isOk());
      ASSERT_TRUE(channel.receive(viewOf(found), failure, kSite).isOk());
      EXPECT_EQ(found, values);
    }
    std::vector<float> two(2), three(3);
    ASSERT_TRUE(channel.send(viewOf(two), failure, kSite).isOk());
    Status status = channel.receive(viewOf(three), failure, kSite);
    EXPECT_TRUE(has(status, "'/layer' expects 12 bytes, rank "))
        << status.message();
  });
}

TEST(Transport, AnErrorEndsAllWaits) {
  onFakeProcesses(3, [](Transport &transport) {
    if (transport.rank() == 2) {
      std::this_thread::sleep_for(30ms);
      EXPECT_FALSE(
          transport.abort(argumentError("MatMul at node '/up' has failed"))
              .isOk());
    }
    NetworkCommunicator all(transport, {0, 1, 2}, 10s);
    int64_t mine = 1, found[3];
    Status status = all.exchange(&mine, sizeof mine, found, kSite);
    EXPECT_EQ(status.message(), "MatMul at node '/up' has failed");
    EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
    EXPECT_EQ(transport.isSpeaker(), transport.rank() == 0);
  });
}

TEST(Transport, ATimeoutNamesCollectiveNodeAndMissingRanks) {
  onFakeProcesses(3, [](Transport &transport) {
    transport.describe({[](int rank) { return message("rank ", rank, "!"); },
                        [] { return "in Conv at node '/c'"; },
                        {},
                        {}});
    std::this_thread::sleep_for(600ms); // they have told each other
    NetworkCommunicator all(transport, {0, 1, 2}, 100ms);
    if (transport.rank() == 1) // comes too late
      std::this_thread::sleep_for(1s);
    int64_t mine = 1, found[3];
    Status status = all.exchange(&mine, sizeof mine, found, kSite);
    for (const char *part : {"receive at node '/layer' (instruction 3)",
                             "missing: rank 1! in Conv at node '/c'"})
      EXPECT_TRUE(has(status, part)) << status.message();
  });
}

TEST(Transport, RanksAtDifferentInstructions) {
  onFakeProcesses(2, [](Transport &transport) {
    NetworkCommunicator all(transport, {0, 1}, 10s);
    int64_t mine = 1, found[2];
    Status status =
        all.exchange(&mine, sizeof mine, found,
                     {"all_reduce", "/layer", 5 + transport.rank()});
    EXPECT_TRUE(has(status, "of instruction ")) << status.message();
  });
}

TEST(Transport, WhoLeavesIsNotWaitedFor) {
  onFakeProcesses(2, [](Transport &transport) {
    if (transport.rank() == 1)
      return;
    EXPECT_TRUE(transport.waitForEnd(1).isOk());
    NetworkCommunicator all(transport, {0, 1}, 10s);
    int64_t mine = 1, found[2];
    Status status = all.exchange(&mine, sizeof mine, found, kSite);
    EXPECT_TRUE(has(status, "rank 1 has ended its session") ||
                has(status, "rank 1 has died"))
        << status.message();
  });
}

/// Ranks 0 and 1 fall silent at once, as when the cable to their host is cut,
/// but the others heard their last signs at different times. One of those
/// others speaks, and names both.
TEST(Transport, OneOfThoseLeftNamesAllThatFellSilent) {
  std::atomic<int> found = 0, speakers = 0;
  auto body = [&](Transport &transport) {
    std::this_thread::sleep_for(600ms);
    if (transport.rank() < 2) {
      std::this_thread::sleep_for(transport.rank() * 400ms);
      const auto isOver = [&] {
        while (found < 2)
          std::this_thread::sleep_for(10ms);
        return std::string();
      };
      transport.describe({{}, isOver, {}, {}}); // the next sign never comes
      isOver();
      return;
    }
    Status status = transport.waitForEnd(0);
    EXPECT_TRUE(has(status, "no sign of life from ")) << status.message();
    EXPECT_TRUE(has(status, "; rank 1")) << status.message();
    EXPECT_EQ(transport.isSpeaker(), transport.rank() == 2);
    speakers += transport.isSpeaker();
    ++found;
  };
  onFakeProcesses(4, body, {.silence = 2s});
  EXPECT_EQ(speakers, 1);
}

TEST(Meeting, TurnsStrangersAway) {
  auto places = test::placesOnThisMachine(2);
  std::thread stranger([&] {
    Socket socket;
    const Deadline soon = std::chrono::steady_clock::now() + 5s;
    ASSERT_TRUE(connectTo("127.0.0.1", places[0].port, soon, socket).isOk());
    const std::string request(200, 'x');
    EXPECT_TRUE(socket.sendAll(request.data(), request.size(), soon));
    char answer = 0;
    EXPECT_FALSE(socket.receiveAll(&answer, 1, soon));
  });
  std::vector<std::thread> ranks;
  for (int rank : {0, 1})
    ranks.emplace_back([&, rank] {
      if (rank == 1)
        stranger.join();
      std::unique_ptr<Transport> transport;
      Status status =
          Transport::open(places[static_cast<size_t>(rank)], {}, transport);
      EXPECT_TRUE(status.isOk()) << status.message();
    });
  for (std::thread &thread : ranks)
    thread.join();
}

TEST(Meeting, TellsWhoDidNotCome) {
  auto places = test::placesOnThisMachine(3);
  std::unique_ptr<Transport> transport;
  Status status = Transport::open(places[0], {.timeout = 50ms}, transport);
  EXPECT_TRUE(has(status, "2 of 3 processes did not come (rank 1, 2)"))
      << status.message();
  status = Transport::open(places[1], {.timeout = 50ms}, transport);
  EXPECT_TRUE(has(status, "rank 1 of 3 does not find rank 0"))
      << status.message();
  EXPECT_TRUE(has(status, "SHARDC_RENDEZVOUS")) << status.message();
}

/// While rank 0 waits for others: a process that takes its place is one of them.
TEST(Meeting, ARankThatEndsBeforeAllAreThere) {
  const auto places = test::placesOnThisMachine(3);
  std::vector<Status> met(3);
  const auto meet = [&](size_t rank) {
    std::unique_ptr<Transport> transport;
    met[rank] = Transport::open(places[rank], {.timeout = 20s}, transport);
  };
  std::vector<std::thread> threads;
  threads.emplace_back(meet, 0);
  std::unique_ptr<Transport> transport;
  EXPECT_FALSE(
      Transport::open(places[1], {.timeout = 200ms}, transport).isOk());
  for (size_t rank : {2, 1})
    threads.emplace_back(meet, rank);
  for (std::thread &thread : threads)
    thread.join();
  for (const Status &status : met)
    EXPECT_TRUE(status.isOk()) << status.message();
}

TEST(Meeting, ARankThatComesTwice) {
  auto places = test::placesOnThisMachine(3);
  std::atomic<int> refused = 0;
  std::vector<std::thread> threads;
  for (int rank : {0, 1, 1})
    threads.emplace_back([&, rank] {
      std::unique_ptr<Transport> transport;
      Status status = Transport::open(places[static_cast<size_t>(rank)],
                                      {.timeout = 5s}, transport);
      EXPECT_FALSE(status.isOk());
      refused += has(status, "two processes say that they are rank 1");
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(refused, 2) << "rank 0, and the one that came second";
}

} // namespace
} // namespace shardc::runtime
