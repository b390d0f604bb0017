//===- SettlementTest.cpp - A request fails, and the next goes well -------===//
#include "runtime/base/Message.h"
#include "runtime/transport/Transport.h"
#include "tests/unit/runtime/FakeProcesses.h"

#include <array>
#include <atomic>
#include <cstring>
#include <random>

namespace shardc::runtime {
namespace {

using namespace std::chrono_literals;
using test::onFakeProcesses;

/// What a process does of a request: sends its number to all others, twice, and
/// reads what they send. `fails`: it does so before the second time.
Status exchange(Transport &transport, uint64_t request, bool fails) {
  std::vector<Stream *> others;
  for (int peer = 0; peer < transport.size(); ++peer)
    if (peer != transport.rank())
      others.push_back(&transport.stream(peer, 20, {}));
  for (uint64_t part = 0; part < 2; ++part) {
    const std::array<uint64_t, 2> mine{request, part};
    for (Stream *stream : others)
      SHARDC_RETURN_IF_ERROR(
          stream->send(std::as_bytes(std::span(mine)), std::nullopt));
    if (fails)
      return artifactError("failed on purpose");
    SHARDC_RETURN_IF_ERROR(transport.waitForMessages(others, std::nullopt));
    for (Stream *stream : others) {
      std::array<uint64_t, 2> theirs{};
      std::memcpy(&theirs, stream->front().bytes.data(), sizeof theirs);
      EXPECT_EQ(theirs, mine) << "nothing of the requests before";
      stream->release();
    }
  }
  return Status::ok();
}

/// A request with all that belongs to it.
Status run(Transport &transport, uint64_t request, bool fails,
           Settlement &found) {
  EXPECT_TRUE(transport.beginRequest(request, /*endsAlone=*/true));
  Status status = exchange(transport, request, fails);
  if (!status.isOk())
    status = transport.end(status);
  return transport.endRequest(status.isOk())
             ? transport.takeSettlement(10s, found)
             : status;
}

TEST(Settlement, everyRequestThatFailsIsFollowedByOneThatGoesWell) {
  constexpr int kSize = 4, kRounds = 100;
  std::atomic<int> finished = 0;
  onFakeProcesses(kSize, [&](Transport &transport) {
    transport.openRequests(true);
    std::mt19937 random(7); // alike in all
    uint64_t lastDone = 0;
    for (uint64_t request = 1; request <= kRounds; ++request) {
      // One of them, two, or none.
      const int first = static_cast<int>(random() % (2 * kSize));
      const int second = static_cast<int>(random() % (2 * kSize));
      const bool fails =
          transport.rank() == first || transport.rank() == second;
      Settlement found;
      const Status status = run(transport, request, fails, found);
      ASSERT_TRUE(status.isOk()) << status.message();
      const bool someFail = first < kSize || second < kSize;
      EXPECT_EQ(found.status.isOk(), !someFail) << found.status.message();
      if (someFail) {
        EXPECT_EQ(found.mostBegun, request);
        EXPECT_EQ(found.mostDone, lastDone) << "all wait for all";
        EXPECT_EQ(found.leastDone, lastDone);
      } else
        lastDone = request;
    }
    ++finished;
    while (finished < kSize) // whoever leaves early is missed
      std::this_thread::sleep_for(1ms);
  });
}

/// Rank 0 is told of it when it has nothing to do, and has begun nothing else.
TEST(Settlement, whoIsDoneAlreadySettlesByItself) {
  std::atomic<bool> isOver = false;
  onFakeProcesses(2, [&](Transport &transport) {
    transport.openRequests(true);
    ASSERT_TRUE(transport.beginRequest(1, true));
    Settlement found;
    if (transport.rank() == 1) {
      std::this_thread::sleep_for(50ms);
      EXPECT_EQ(transport.end(artifactError("too late")).message(), "too late");
      EXPECT_TRUE(transport.endRequest(false));
      ASSERT_TRUE(transport.takeSettlement(10s, found).isOk());
      isOver = true;
    } else {
      EXPECT_FALSE(transport.endRequest(true));
      while (!isOver) // it calls nothing meanwhile
        std::this_thread::sleep_for(1ms);
      EXPECT_FALSE(transport.beginRequest(2, true));
      ASSERT_TRUE(transport.takeSettlement(10s, found).isOk());
      EXPECT_TRUE(transport.beginRequest(2, true));
    }
    EXPECT_EQ(found.status.message(), "too late");
    EXPECT_EQ(found.leastDone, 0u);
    EXPECT_EQ(found.mostDone, 1u);
    EXPECT_EQ(found.told, 1u);
    EXPECT_TRUE(found.isHalfDone(1));
    EXPECT_FALSE(found.canTakeBack(1)) << "rank 0 has said that it went well";
  });
}

TEST(Settlement, whoDoesNotSettleEndsAll) {
  std::atomic<bool> isOver = false;
  onFakeProcesses(2, [&](Transport &transport) {
    transport.openRequests(true);
    ASSERT_TRUE(transport.beginRequest(1, true));
    if (transport.rank() == 1) {
      while (!isOver) // as if in a kernel
        std::this_thread::sleep_for(1ms);
      return;
    }
    (void)transport.end(artifactError("the cause"));
    EXPECT_TRUE(transport.endRequest(false));
    Settlement found;
    const Status status = transport.takeSettlement(100ms, found);
    EXPECT_EQ(status.message(), "the cause (rank 1 no longer answers; open the "
                                "artifact again)");
    EXPECT_TRUE(transport.failed());
    isOver = true;
  });
}

/// While sessions are opened, say.
TEST(Settlement, outsideOfRequestsAnErrorIsThatOfAll) {
  onFakeProcesses(2, [&](Transport &transport) {
    if (transport.rank() == 0)
      EXPECT_EQ(transport.end(artifactError("why")).message(), "why");
    else
      EXPECT_EQ(transport.waitForEnd(0).message(), "why");
    EXPECT_TRUE(transport.failed());
  });
}

} // namespace
} // namespace shardc::runtime
