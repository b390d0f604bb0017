//===- SimulatedCaptureTest.cpp - Graphs of a simulated GPU ---------------===//
#include "tests/conformance/cuda/SimulationFixture.h"

#include <functional>
#include <thread>

namespace shardc::testing {
namespace {

constexpr auto kMode = cudaStreamCaptureModeThreadLocal;

class SimulatedCaptures : public Simulation {
protected:
  void SetUp() override {
    Simulation::SetUp();
    memory = onGpu<int>(2);
    for (cudaEvent_t *made : {&event, &back})
      ASSERT_DONE(cudaEventCreateWithFlags(made, cudaEventDisableTiming));
    ASSERT_DONE(cudaMemsetAsync(memory, 0, 8, stream));
    ASSERT_DONE(cudaStreamSynchronize(stream));
  }
  cudaError_t end(cudaStream_t from) {
    cudaGraph_t graph = nullptr;
    const cudaError_t error = cudaStreamEndCapture(from, &graph);
    EXPECT_EQ(graph != nullptr, error == cudaSuccess);
    if (graph) {
      EXPECT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
    }
    cudaGraphDestroy(graph);
    return error;
  }

  int *memory = nullptr;
  cudaEvent_t event = nullptr, back = nullptr;
  cudaGraphExec_t executable = nullptr;
};

__global__ void addKernel(int *to, const int *from, int value) {
  *to = *from + value;
}

TEST_F(SimulatedCaptures, workIsKeptWithTheArgumentsThatItHad) {
  int value = 3;
  ASSERT_DONE(cudaStreamBeginCapture(stream, kMode));
  ASSERT_TRUE(runtime::cuda::launch(addKernel, {dim3(1), 1}, stream, memory,
                                    memory, value)
                  .isOk());
  value = 5;
  ASSERT_DONE(end(stream));
  EXPECT_EQ(read(memory, stream), 0);
  for (int run = 1; run < 4; ++run) {
    ASSERT_DONE(cudaGraphLaunch(executable, stream));
    EXPECT_EQ(read(memory, stream), 3 * run);
  }
  ASSERT_DONE(cudaGraphExecDestroy(executable));
}

TEST_F(SimulatedCaptures, aStreamJoinsByAnEventAndIsJoined) {
  cudaStream_t other = newStream();
  ASSERT_DONE(cudaStreamBeginCapture(stream, kMode));
  ASSERT_DONE(cudaMemsetAsync(memory, 1, 4, stream));
  ASSERT_DONE(cudaEventRecord(event, stream));
  ASSERT_DONE(cudaStreamWaitEvent(other, event));
  ASSERT_TRUE(runtime::cuda::launch(addKernel, {dim3(1), 1}, other, memory + 1,
                                    memory, 1)
                  .isOk());
  ASSERT_DONE(cudaEventRecord(back, other));
  ASSERT_DONE(cudaStreamWaitEvent(stream, back));
  ASSERT_DONE(end(stream));
  ASSERT_DONE(cudaMemsetAsync(memory, 2, 4, other)); // it is out again
  ASSERT_DONE(cudaStreamSynchronize(other));
  ASSERT_DONE(cudaGraphLaunch(executable, stream));
  EXPECT_EQ(read(memory + 1, stream), 0x01010102);
}

TEST_F(SimulatedCaptures, aStreamThatIsNotJoinedIsAnError) {
  cudaStream_t other = newStream();
  ASSERT_DONE(cudaStreamBeginCapture(stream, kMode));
  ASSERT_DONE(cudaEventRecord(event, stream));
  ASSERT_DONE(cudaStreamWaitEvent(other, event));
  ASSERT_DONE(cudaEventRecord(back, other));
  ASSERT_DONE(cudaStreamWaitEvent(stream, back));
  ASSERT_DONE(cudaMemsetAsync(memory, 1, 4, other)); // behind the event
  EXPECT_EQ(end(stream), cudaErrorStreamCaptureUnjoined);
}

TEST_F(SimulatedCaptures, nothingOutsideIsWaitedFor) {
  cudaStream_t other = newStream();
  ASSERT_DONE(cudaEventRecord(event, other));
  ASSERT_DONE(cudaStreamBeginCapture(stream, kMode));
  EXPECT_EQ(cudaStreamWaitEvent(stream, event),
            cudaErrorStreamCaptureIsolation);
  EXPECT_EQ(end(stream), cudaErrorStreamCaptureInvalidated);
}

TEST_F(SimulatedCaptures, waitsAndAllocationsBreakIt) {
  void *more = nullptr;
  ASSERT_DONE(cudaEventRecord(event, stream));
  const std::function<cudaError_t()> refused[] = {
      [&] { return cudaStreamSynchronize(stream); },
      [&] { return cudaStreamQuery(stream); },
      [&] { return cudaEventQuery(event); },
      [&] { return cudaEventSynchronize(event); },
      [&] { return cudaMalloc(&more, 4); },
      [&] { return cudaMallocHost(&more, 4); },
      [&] { return cudaFree(memory); }};
  for (const auto &call : refused) {
    ASSERT_DONE(cudaStreamBeginCapture(stream, kMode));
    EXPECT_EQ(call(), cudaErrorStreamCaptureUnsupported);
    EXPECT_EQ(cudaMemsetAsync(memory, 1, 4, stream),
              cudaErrorStreamCaptureInvalidated);
    EXPECT_EQ(end(stream), cudaErrorStreamCaptureInvalidated);
  }
  EXPECT_EQ(read(memory, stream), 0);
  ASSERT_DONE(cudaStreamBeginCapture(stream, kMode));
  ASSERT_DONE(cudaEventRecord(event, stream));
  EXPECT_EQ(cudaEventQuery(event), cudaErrorCapturedEvent);
  EXPECT_EQ(end(stream), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(end(stream), cudaErrorIllegalState);
}

TEST_F(SimulatedCaptures, otherThreadsGoOn) {
  ASSERT_DONE(cudaStreamBeginCapture(stream, kMode));
  std::thread([] {
    cudaStream_t own = newStream();
    int *theirs = onGpu<int>(1);
    EXPECT_EQ(cudaMemsetAsync(theirs, 0, 4, own), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(own), cudaSuccess);
  }).join();
  EXPECT_EQ(end(stream), cudaSuccess);
}

/// Each rank has captured one sum.
class SimulatedGraphsOfRanks : public SimulatedRanks {
protected:
  void SetUp() override {
    SimulatedRanks::SetUp();
    for (int rank : {0, 1})
      capture(rank);
  }
  void capture(int rank) {
    ASSERT_DONE(cudaSetDevice(rank));
    ASSERT_DONE(cudaStreamBeginCapture(streams[rank], kMode));
    EXPECT_EQ(reduce(rank), ncclInProgress);
    EXPECT_EQ(state(rank), ncclSuccess);
    cudaGraph_t graph = nullptr;
    ASSERT_DONE(cudaStreamEndCapture(streams[rank], &graph));
    ASSERT_DONE(cudaGraphInstantiate(&graphs[rank], graph, 0));
    ASSERT_DONE(cudaGraphDestroy(graph));
  }
  void start(int rank) {
    ASSERT_DONE(cudaSetDevice(rank));
    ASSERT_DONE(cudaGraphLaunch(graphs[rank], streams[rank]));
  }

  cudaGraphExec_t graphs[2] = {};
};

TEST_F(SimulatedGraphsOfRanks, collectivesMeetInEachRun) {
  for (int sum : {0x03030303, 0x06060606}) {
    for (int rank : {0, 1})
      start(rank);
    for (int rank : {0, 1})
      EXPECT_EQ(read(memory[rank], streams[rank]), sum);
  }
}

TEST_F(SimulatedGraphsOfRanks, allRanksRunTheSameCaptureOrNone) {
  start(0);
  EXPECT_EQ(reduce(1), ncclInProgress); // plain
  (void)state(1);
  EXPECT_EQ(state(0), ncclInvalidUsage);
}

TEST_F(SimulatedGraphsOfRanks, aCaptureOfOneRankAloneFitsNoOther) {
  capture(0);
  for (int rank : {0, 1})
    start(rank);
  EXPECT_EQ(state(0), ncclInvalidUsage);
}

} // namespace
} // namespace shardc::testing
