//===- CollectiveStreamTest.cpp - What runs beside what computes ----------===//
#include "runtime/device/cuda/collectives/CollectiveStream.h"
#include "tests/conformance/cuda/SimulationFixture.h"

namespace shardc::testing {
namespace {

using runtime::CollectiveStream;

#define ASSERT_OK(expression) ASSERT_TRUE((expression).isOk())

/// Work is done when somebody waits for it, so that what is not ordered shows:
/// collectives are bytes that are set here.
class CollectiveStreams : public Simulation {
protected:
  void SetUp() override {
    Simulation::SetUp();
    ASSERT_OK(beside.start());
    bytes = onGpu<unsigned char>(4);
    ASSERT_DONE(cudaMemsetAsync(bytes, 0, 4, stream));
    ASSERT_DONE(cudaStreamSynchronize(stream));
  }
  /// A collective that sets one of the bytes.
  void collective(int place, int value, int flight) {
    ASSERT_OK(beside.enter(stream));
    ASSERT_DONE(cudaMemsetAsync(bytes + place, value, 1, beside.stream()));
    ASSERT_OK(beside.leave(stream, flight));
  }
  void compute(int place, int value) {
    ASSERT_DONE(cudaMemsetAsync(bytes + place, value, 1, stream));
  }
  /// What the stream that computes sees.
  int seen(int place) { return read(bytes + place, stream); }

  CollectiveStream beside;
  unsigned char *bytes = nullptr;
};

TEST_F(CollectiveStreams, withoutAFlightIsDoneBeforeWhatComesNext) {
  collective(0, 7, -1);
  EXPECT_FALSE(beside.hasFlights());
  EXPECT_EQ(seen(0), 7);
}

TEST_F(CollectiveStreams, aFlightIsDoneWhenItWasAwaited) {
  collective(0, 7, 0);
  compute(1, 1);
  EXPECT_EQ(seen(1), 1);
  EXPECT_EQ(seen(0), 0); // nobody has waited
  ASSERT_OK(beside.wait(stream, 0));
  EXPECT_EQ(seen(0), 7);
  EXPECT_FALSE(beside.hasFlights());
}

/// A launch that comes next reports what was asked before as its own error.
TEST_F(CollectiveStreams, isAskedWithoutATrace) {
  collective(0, 7, 0);
  EXPECT_FALSE(beside.hasLanded(0));
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_F(CollectiveStreams, comesBehindWhatWasComputed) {
  compute(0, 1);
  collective(0, 2, 0);
  ASSERT_OK(beside.wait(stream, 0));
  EXPECT_EQ(seen(0), 2);
}

TEST_F(CollectiveStreams, flightsAreDoneInTheirOrder) {
  collective(0, 1, 3);
  collective(1, 2, 0);
  collective(2, 3, 1);
  ASSERT_OK(beside.wait(stream, 0)); // and the one before it
  EXPECT_EQ(seen(0), 1);
  EXPECT_EQ(seen(1), 2);
  EXPECT_EQ(seen(2), 0);
  EXPECT_TRUE(beside.hasFlights());
  collective(3, 4, -1); // behind all of them
  EXPECT_EQ(seen(2), 3);
  EXPECT_EQ(seen(3), 4);
  EXPECT_TRUE(beside.hasLanded(1));
}

TEST_F(CollectiveStreams, aNumberIsUsedAgain) {
  for (int value : {1, 2, 3}) {
    collective(0, value, 0);
    ASSERT_OK(beside.wait(stream, 0));
    EXPECT_EQ(seen(0), value);
  }
  ASSERT_OK(beside.wait(stream, 0)); // nothing is in flight
}

TEST_F(CollectiveStreams, allAreAwaitedAtOnce) {
  collective(0, 1, 0);
  collective(1, 2, 1);
  ASSERT_OK(beside.waitForAll(stream));
  EXPECT_EQ(seen(0) + seen(1), 3);
  EXPECT_FALSE(beside.hasFlights());
}

TEST_F(CollectiveStreams, forkAndJoinAreCaptured) {
  collective(0, 9, 0); // the event is there
  ASSERT_OK(beside.waitForAll(stream));
  ASSERT_DONE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  compute(0, 1);
  collective(1, 2, 0);
  compute(2, 3);
  ASSERT_OK(beside.wait(stream, 0));
  compute(1, 4);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t ready = nullptr;
  ASSERT_DONE(cudaStreamEndCapture(stream, &graph));
  ASSERT_DONE(cudaGraphInstantiate(&ready, graph, 0));
  ASSERT_DONE(cudaGraphDestroy(graph));
  EXPECT_EQ(seen(0), 9);
  for (int run = 0; run < 2; ++run) {
    ASSERT_DONE(cudaGraphLaunch(ready, stream));
    EXPECT_EQ(seen(0), 1);
    EXPECT_EQ(seen(1), 4); // behind the collective
    EXPECT_EQ(seen(2), 3);
    compute(1, 0);
  }
  ASSERT_DONE(cudaGraphExecDestroy(ready));
}

} // namespace
} // namespace shardc::testing
