//===- LinkTest.cpp - From device to device, between stages ---------------===//
//
// Where there is no link, the same goes over a channel of the host.
//
//===----------------------------------------------------------------------===//
#include "runtime/collectives/threads/ThreadChannel.h"
#include "tests/conformance/backend/CollectiveFixture.h"

namespace shardc::test {
namespace {

const CollectiveSite kSite{"send", "/layer", 3};

/// What two ranks of a test share, for each value of their programs one box.
struct Pair {
  static constexpr size_t kSlots = 2;
  RunFailure failure{std::chrono::seconds(60),
                     [](int rank) { return "rank " + std::to_string(rank); }};
  const std::vector<int> members;
  SharedMemoryGroup group;
  std::vector<std::unique_ptr<ThreadChannel>> boxes;

  Pair(int from, int to, int channels)
      : members{from, to}, group(members, failure) {
    EXPECT_TRUE(group.allocate());
    for (int i = 0; i < channels; ++i)
      boxes.push_back(std::make_unique<ThreadChannel>(
          kSlots, ChannelEnd{"the sender"}, ChannelEnd{"the receiver"}));
  }
};

/// A rank's end of them.
struct End {
  std::unique_ptr<Communicator> host;
  std::unique_ptr<DeviceLink> link;
  std::vector<std::unique_ptr<StageChannel>> channels;

  End(const Rank &rank, Pair &pair) {
    const int index = pair.members[0] == rank.index() ? 0 : 1;
    host = pair.group.join(index);
    Status status = rank.device->createLink({pair.members, index, host.get(),
                                             pair.failure.timeout,
                                             pair.failure.describeRank},
                                            *rank.stream, link);
    EXPECT_TRUE(status.isOk()) << status.message();
    for (auto &box : pair.boxes)
      channels.push_back(link ? link->createChannel(*box, Pair::kSlots)
                              : stageChannel(*box, *rank.device, *rank.stream));
  }
  ~End() { channels.clear(); }
};

class LinkTest : public CollectiveTest {};

/// Nobody goes before all have what they wait for.
void meet(const Rank &rank) {
  char all[3];
  ASSERT_OK(rank.communicator->exchange("x", 1, all, kSite));
}

TEST_P(LinkTest, valuesArriveInOrderWhateverTheirSize) {
  Pair pair(0, 1, 2);
  onRanks(2, [&](const Rank &rank) {
    End end(rank, pair);
    for (int64_t i = 0; i < 24; ++i) {
      // Columns of a wider tensor, on both sides.
      const int64_t columns = i % 5 * 7;
      const auto isSender = rank.index() == 0;
      OnDevice whole(
          rank, kFloat, {3, columns + 2},
          isSender
              ? counted(3 * (columns + 2), static_cast<float>(100 * i))
              : std::vector<float>(static_cast<size_t>(3 * (columns + 2)), -1));
      const TensorView part = narrowed(whole.view, 1, 1, columns);
      StageChannel &channel = *end.channels[static_cast<size_t>(i % 2)];
      if (isSender) {
        ASSERT_OK(channel.send(part, pair.failure, kSite));
        ASSERT_OK(rank.stream->synchronize()); // `whole` goes
        continue;
      }
      ASSERT_OK(channel.receive(part, pair.failure, kSite));
      std::vector<float> expected =
          counted(3 * (columns + 2), static_cast<float>(100 * i));
      for (size_t row = 0; row < 3; ++row)
        for (size_t edge :
             {row * size_t(columns + 2), (row + 1) * size_t(columns + 2) - 1})
          expected[edge] = -1;
      EXPECT_EQ(whole.read<float>(rank), expected) << i;
    }
    meet(rank);
  });
}

TEST_P(LinkTest, senderDoesNotWaitForTheReceiver) {
  Pair pair(0, 1, 1);
  std::promise<void> isAhead;
  onRanks(2, [&](const Rank &rank) {
    End end(rank, pair);
    OnDevice value(rank, kFloat, {4}, counted(4));
    if (rank.index() == 0) {
      for (size_t i = 0; i < Pair::kSlots; ++i)
        ASSERT_OK(end.channels[0]->send(value.view, pair.failure, kSite));
      ASSERT_OK(rank.stream->synchronize());
      isAhead.set_value();
      return meet(rank);
    }
    isAhead.get_future().wait();
    for (size_t i = 0; i < Pair::kSlots; ++i) {
      OnDevice got = value.like(rank);
      ASSERT_OK(end.channels[0]->receive(got.view, pair.failure, kSite));
      EXPECT_EQ(got.read<float>(rank), counted(4));
    }
    meet(rank);
  });
}

/// Stage 0 sends past stage 1, and before what stage 1 needs.
TEST_P(LinkTest, whatSkipsAStageKeepsNobodyBack) {
  Pair first(0, 1, 1), second(1, 2, 1), past(0, 2, 1);
  onRanks(3, [&](const Rank &rank) {
    std::unique_ptr<End> toNext, skips, fromLast;
    if (rank.index() < 2)
      (rank.index() == 0 ? toNext : fromLast) =
          std::make_unique<End>(rank, first);
    if (rank.index() != 1)
      skips = std::make_unique<End>(rank, past);
    if (rank.index() > 0)
      (rank.index() == 1 ? toNext : fromLast) =
          std::make_unique<End>(rank, second);
    auto send = [&](End &end, const OnDevice &value) {
      ASSERT_OK(end.channels[0]->send(value.view, first.failure, kSite));
    };
    auto receive = [&](End &end, const OnDevice &value) {
      ASSERT_OK(end.channels[0]->receive(value.view, first.failure, kSite));
    };
    OnDevice a(rank, kFloat, {4}, counted(4)), b = a.like(rank);
    for (int run = 0; run < 8; ++run) {
      if (rank.index() == 0) {
        send(*skips, a);
        send(*toNext, a);
      } else if (rank.index() == 1) {
        receive(*fromLast, b);
        send(*toNext, b);
      } else {
        OnDevice c = a.like(rank);
        receive(*fromLast, b);
        receive(*skips, c);
        EXPECT_EQ(b.read<float>(rank), counted(4));
        EXPECT_EQ(c.read<float>(rank), counted(4));
      }
    }
    meet(rank);
  });
}

TEST_P(LinkTest, whatAFailedRunLeftIsNoValueOfTheNext) {
  Pair pair(0, 1, 1);
  std::promise<void> isSent;
  onRanks(2, [&](const Rank &rank) {
    End end(rank, pair);
    OnDevice old(rank, kFloat, {4}, counted(4)),
        fresh(rank, kFloat, {4}, counted(4, 50));
    if (rank.index() == 0) {
      ASSERT_OK(end.channels[0]->send(old.view, pair.failure, kSite));
      pair.boxes[0]->reset(); // the run has failed, and the next one begins
      ASSERT_OK(end.channels[0]->send(fresh.view, pair.failure, kSite));
      ASSERT_OK(rank.stream->synchronize());
      return isSent.set_value();
    }
    isSent.get_future().wait();
    OnDevice got = old.like(rank);
    const Status status =
        end.channels[0]->receive(got.view, pair.failure, kSite);
    if (end.link)
      EXPECT_NE(status.message().find("run that failed"), std::string::npos)
          << status.message();
    else
      EXPECT_EQ(got.read<float>(rank), counted(4, 50));
  });
}

TEST_P(LinkTest, aLinkThatWasRestartedGoesOn) {
  Pair pair(0, 1, 1);
  onRanks(2, [&](const Rank &rank) {
    End end(rank, pair);
    for (float run = 0; run < 3; ++run) {
      OnDevice value(rank, kFloat, {4}, counted(4, run));
      if (rank.index() == 0) {
        // The run fails when only one of two values has come.
        for (int i = 0; i < 2; ++i)
          ASSERT_OK(end.channels[0]->send(value.view, pair.failure, kSite));
        ASSERT_OK(rank.stream->synchronize());
      } else {
        OnDevice got = value.like(rank);
        ASSERT_OK(end.channels[0]->receive(got.view, pair.failure, kSite));
        EXPECT_EQ(got.read<float>(rank), counted(4, run));
      }
      char all[2];
      ASSERT_OK(end.host->exchange("x", 1, all, kSite));
      if (rank.index() == 0)
        pair.boxes[0]->reset();
      ASSERT_OK(end.host->exchange("x", 1, all, kSite));
      if (end.link)
        ASSERT_OK(end.link->restart(*end.host));
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Backends, LinkTest,
                         testing::Values("host", "fake", "cuda"),
                         [](const auto &info) { return info.param; });

} // namespace
} // namespace shardc::test
