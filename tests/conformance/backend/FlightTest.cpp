//===- FlightTest.cpp - Collectives beside other work ---------------------===//
#include "tests/conformance/backend/CollectiveFixture.h"

namespace shardc::test {
namespace {

class FlightTest : public CollectiveTest {
protected:
  /// body(rank, communicator) on the first of two ranks, of a group to which
  /// the second one joins, but not comes.
  template <typename Body>
  void onSecondGroup(std::chrono::milliseconds timeout,
                     std::function<bool()> hasFailed, Body body,
                     std::function<uint64_t()> progress = {}) {
    const std::vector<int> members = {0, 1};
    RunFailure failure(kImpatient, [](int) { return std::string("a rank"); });
    failure.progress = progress;
    SharedMemoryGroup group(members, failure);
    ASSERT_TRUE(group.allocate());
    std::promise<void> over;
    std::shared_future<void> isOver = over.get_future().share();
    onRanks(
        2,
        [&](const Rank &rank) {
          std::unique_ptr<Communicator> host = group.join(rank.index()), second;
          ASSERT_OK(joinGroup({members, rank.index(), host.get(), timeout,
                               failure.describeRank, hasFailed, progress},
                              *rank.device, *rank.stream, second));
          if (rank.index() == 1)
            return isOver.wait();
          body(rank, second);
          over.set_value();
        },
        kImpatient);
  }
};

/// Two sums in flight, of what the stream copies before and beside them.
struct InFlight {
  explicit InFlight(const Rank &rank)
      : rank(rank), x(rank, kFloat, {4}, counted(4, rank.index())),
        a(rank, kFloat, {4}, zeros), b(a.like(rank)),
        sums{a.like(rank), a.like(rank)}, out(rank, kFloat, {4}, zeros) {}

  Status copy(const OnDevice &from, const OnDevice &to) const {
    return rank.stream->copy(to.memory.data(), from.memory.data(),
                             {from.memory.size()},
                             CopyDirection::DeviceToDevice);
  }
  Status start(const OnDevice &from, int flight) const {
    return rank.communicator->allReduce(from.view, sums[flight].view,
                                        ReduceKind::Sum,
                                        {"all_reduce", "node", flight, flight});
  }
  Status wait(int flight) const {
    return rank.communicator->wait(flight, {"wait", "node", 9, flight});
  }
  /// a = x, its sum is started, b = a, its sum is started.
  Status startBoth() const {
    SHARDC_RETURN_IF_ERROR(copy(x, a));
    SHARDC_RETURN_IF_ERROR(start(a, 0));
    SHARDC_RETURN_IF_ERROR(copy(a, b));
    return start(b, 1);
  }

  const Rank &rank;
  const std::vector<float> zeros = std::vector<float>(4);
  OnDevice x, a, b, sums[2], out;
  const std::vector<float> expected = {1, 3, 5, 7};
};

TEST_P(FlightTest, workRunsBesideWhatIsInFlight) {
  onRanks(2, [&](const Rank &rank) {
    InFlight it(rank);
    for (int first : {0, 1}) {
      ASSERT_OK(it.startBoth());
      for (int flight : {first, 1 - first}) {
        ASSERT_OK(it.wait(flight));
        ASSERT_OK(it.copy(it.sums[flight], it.out));
        EXPECT_EQ(it.out.read<float>(rank), it.expected);
      }
    }
  });
}

TEST_P(FlightTest, operationsKeepTheirOrderBehindWhatIsInFlight) {
  onRanks(2, [&](const Rank &rank) {
    InFlight it(rank);
    ASSERT_OK(it.startBoth());
    // Not in flight, and of what is: 2 * (1, 3, 5, 7).
    ASSERT_OK(rank.communicator->allReduce(it.sums[0].view, it.out.view,
                                           ReduceKind::Sum,
                                           {"all_reduce", "node", 3}));
    EXPECT_EQ(it.out.read<float>(rank), (std::vector<float>{2, 6, 10, 14}));
    ASSERT_OK(it.wait(0));
    ASSERT_OK(it.wait(1));
    EXPECT_EQ(it.sums[1].read<float>(rank), it.expected);
  });
}

/// A capture awaits its own flights, also those that nobody awaits in it.
TEST_P(FlightTest, flightsAreCaptured) {
  onRanks(2, [&](const Rank &rank) {
    if (!rank.stream->canCapture() || !rank.communicator->isCapturable())
      return; // what is captured would be done at once
    InFlight it(rank);
    ASSERT_OK(it.startBoth()); // what is made in the first run is there
    ASSERT_OK(it.wait(0));
    ASSERT_OK(it.wait(1));
    ASSERT_OK(rank.stream->synchronize());
    std::unique_ptr<DeviceGraph> graph;
    ASSERT_OK(rank.stream->beginCapture());
    ASSERT_OK(it.startBoth());
    ASSERT_OK(it.wait(0));
    ASSERT_OK(it.copy(it.sums[0], it.out));
    ASSERT_OK(rank.stream->endCapture(graph));
    for (int run : {1, 2, 3}) {
      const OnDevice larger(rank, kFloat, {4},
                            counted(4, static_cast<float>(run)));
      ASSERT_OK(it.copy(larger, it.x));
      ASSERT_OK(it.start(it.x, 0)); // in flight when the graph begins
      ASSERT_OK(rank.stream->run(*graph));
      ASSERT_OK(it.wait(1));
      const auto sum = static_cast<float>(2 * run);
      const std::vector<float> expected = {sum, sum + 2, sum + 4, sum + 6};
      EXPECT_EQ(it.out.read<float>(rank), expected);
      EXPECT_EQ(it.sums[1].read<float>(rank), expected);
    }
  });
}

/// A wait for something else beside the flight forgets nothing.
TEST_P(FlightTest, whoDoesNotComeIsNamed) {
  onLoneRank([&](const Rank &rank) {
    OnDevice value(rank, kFloat, {1}, std::vector<float>{1});
    Status status = reduceAlone(rank, value, /*flight=*/0);
    if (status.isOk())
      status = rank.stream->synchronize();
    if (status.isOk())
      status = rank.communicator->wait(0, {"all_reduce", "lonely", 7, 0});
    if (status.isOk())
      status = rank.stream->synchronize();
    for (const char *part : {"all_reduce at node 'lonely'", "rank 1"})
      EXPECT_NE(status.message().find(part), std::string::npos)
          << status.message();
  });
}

/// Groups of a rank may share a stream, on which one waits for ever.
TEST_P(FlightTest, aGroupMayGoWhileAnotherWaits) {
  onSecondGroup(kImpatient, {}, [](const Rank &rank, auto &second) {
    // Never released, since work that uses it may never end.
    auto *value = new OnDevice(rank, kFloat, {1}, std::vector<float>{1});
    (void)reduceAlone(rank, *value, /*flight=*/0);
    second.reset();
  });
}

/// A sum over the second group ends with an error.
static void expectNobodyComes(const Rank &rank,
                              std::unique_ptr<Communicator> &second) {
  OnDevice value(rank, kFloat, {1}, std::vector<float>{1});
  Status status = reduceAlone({second.get(), rank.device, rank.stream}, value);
  if (status.isOk())
    status = rank.stream->synchronize();
  EXPECT_FALSE(status.isOk());
  second.reset();
}

/// Not longer than nobody gets on, but as long as somebody does.
TEST_P(FlightTest, whoGetsOnIsWaitedFor) {
  std::atomic<uint64_t> moves = 0;
  const auto begin = std::chrono::steady_clock::now();
  onSecondGroup(kImpatient, {}, expectNobodyComes,
                // Whoever is patient for a while asks some eight times in it.
                [&] { return moves < 20 ? ++moves : moves.load(); });
  EXPECT_GT(std::chrono::steady_clock::now() - begin, 2 * kImpatient);
  EXPECT_EQ(moves, 20u);
}

/// However long the others would wait for it.
TEST_P(FlightTest, whoHasFailedIsNotWaitedFor) {
  constexpr std::chrono::hours kForEver{1};
  onSecondGroup(kForEver, [] { return true; }, expectNobodyComes);
}

INSTANTIATE_TEST_SUITE_P(Backends, FlightTest,
                         testing::Values("host", "fake", "cuda"),
                         [](const auto &info) { return info.param; });

} // namespace
} // namespace shardc::test
