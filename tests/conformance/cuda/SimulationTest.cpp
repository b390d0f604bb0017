//===- SimulationTest.cpp - What a simulated GPU refuses ------------------===//
//
// It is of use only as far as it is as strict as a GPU.
//
//===----------------------------------------------------------------------===//
#include "tests/conformance/cuda/SimulationFixture.h"

#include <numeric>
#include <thread>

namespace shardc::testing {
namespace {

using runtime::cuda::Grid;
using runtime::cuda::launch;

using SimulationDeathTest = Simulation;

__global__ void setKernel(int *to, int value) {
  to[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

//===--- Memory -----------------------------------------------------------===//

TEST_F(SimulationDeathTest, theHostDoesNotTouchMemoryOfTheDevice) {
  int *memory = onGpu<int>(4);
  EXPECT_EXIT(*static_cast<volatile int *>(memory) = 1,
              ::testing::KilledBySignal(SIGSEGV), "");
}

TEST_F(SimulationDeathTest, aFunctionOfTheHostInAStreamNeither) {
  int *memory = onGpu<int>(4);
  EXPECT_EXIT(
      {
        cudaLaunchHostFunc(
            stream, [](void *data) { *static_cast<volatile int *>(data) = 1; },
            memory);
        cudaStreamSynchronize(stream);
      },
      ::testing::KilledBySignal(SIGSEGV), "");
}

TEST_F(SimulationDeathTest, aKernelDoesNotRunOverTheEndOfItsMemory) {
  int *memory = onGpu<int>(64);
  auto run = [&](unsigned threads) {
    runtime::Status status =
        launch(setKernel, {dim3(1), threads}, stream, memory, 1);
    return status.isOk() && cudaStreamSynchronize(stream) == cudaSuccess;
  };
  EXPECT_TRUE(run(64));
  EXPECT_EXIT(run(65), ::testing::KilledBySignal(SIGSEGV), "");
}

TEST_F(Simulation, copiesStayWithinTheirMemory) {
  char *memory = onGpu<char>(100);
  char host[200] = {};
  auto up = [&](void *to, size_t bytes) {
    return cudaMemcpyAsync(to, host, bytes, cudaMemcpyHostToDevice, stream);
  };
  EXPECT_EQ(up(memory, 100), cudaSuccess);
  EXPECT_EQ(up(memory, 101), cudaErrorInvalidValue);
  EXPECT_EQ(up(memory + 1, 100), cudaErrorInvalidValue);
  EXPECT_EQ(up(host + 100, 100), cudaErrorInvalidValue); // no GPU's
  EXPECT_EQ(cudaMemcpyAsync(memory, memory, 8, cudaMemcpyDeviceToHost, stream),
            cudaErrorInvalidValue);
  // Rows that overlap.
  EXPECT_EQ(cudaMemcpy2DAsync(memory, 4, host, 8, 8, 2, cudaMemcpyHostToDevice,
                              stream),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_F(Simulation, workOnReleasedMemoryFailsForGood) {
  ASSERT_DONE(cudaSetDevice(7)); // no other test's
  cudaStream_t own = newStream();
  int *memory = onGpu<int>(4);
  ASSERT_DONE(cudaMemsetAsync(memory, 0, 16, own));
  ASSERT_DONE(cudaFree(memory)); // without a wait
  EXPECT_EQ(cudaStreamSynchronize(own), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaStreamSynchronize(own), cudaErrorIllegalAddress);
  void *more = nullptr;
  EXPECT_EQ(cudaMalloc(&more, 4), cudaErrorIllegalAddress);
  ASSERT_DONE(cudaSetDevice(0)); // the others are well
  EXPECT_EQ(cudaFree(memory), cudaErrorInvalidValue);
}

TEST_F(Simulation, memoryOfADeviceIsLimited) {
  void *memory = nullptr;
  EXPECT_EQ(cudaMalloc(&memory, size_t{1} << 40), cudaErrorMemoryAllocation);
  EXPECT_EQ(memory, nullptr);
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
  size_t before = 0, after = 0, total = 0;
  ASSERT_DONE(cudaMemGetInfo(&before, &total));
  memory = onGpu<char>(1 << 20);
  ASSERT_DONE(cudaMemGetInfo(&after, &total));
  EXPECT_EQ(before - after, size_t{1} << 20);
  ASSERT_DONE(cudaFree(memory));
}

//===--- Streams ----------------------------------------------------------===//

TEST_F(Simulation, nothingIsDoneBeforeSomebodyWaits) {
  int *memory = onGpu<int>(1);
  int before = -1, after = -1;
  int value = 1;
  ASSERT_DONE(
      cudaMemcpyAsync(memory, &value, 4, cudaMemcpyHostToDevice, stream));
  ASSERT_DONE(
      cudaMemcpyAsync(&after, memory, 4, cudaMemcpyDeviceToHost, stream));
  value = 2; // too early
  before = after;
  ASSERT_DONE(cudaStreamSynchronize(stream));
  EXPECT_EQ(before, -1);
  EXPECT_EQ(after, 2);
}

TEST_F(Simulation, whatWasNotDoneIsNotReady) {
  int *memory = onGpu<int>(1);
  EXPECT_EQ(cudaStreamQuery(stream), cudaSuccess);
  ASSERT_DONE(cudaMemsetAsync(memory, 0, 4, stream));
  EXPECT_EQ(cudaStreamQuery(stream), cudaErrorNotReady);
  EXPECT_EQ(cudaStreamQuery(stream), cudaSuccess);
  EXPECT_EQ(cudaGetLastError(), cudaErrorNotReady); // who asked clears it
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_F(Simulation, streamsWaitForNothingButEvents) {
  cudaStream_t other = newStream();
  cudaEvent_t event = nullptr;
  ASSERT_DONE(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  int *memory = onGpu<int>(1);
  ASSERT_DONE(cudaMemsetAsync(memory, 0, 4, stream));
  EXPECT_EQ(read(memory, other), -1); // what fresh memory has
  ASSERT_DONE(cudaEventRecord(event, stream));
  ASSERT_DONE(cudaMemsetAsync(memory, 1, 4, stream));
  ASSERT_DONE(cudaStreamWaitEvent(other, event));
  EXPECT_EQ(read(memory, other), 0); // but not what is behind the event
  EXPECT_EQ(read(memory, stream), 0x01010101);
}

TEST_F(Simulation, nobodyWaitsForTheStandardStream) {
  int *memory = onGpu<int>(1);
  ASSERT_DONE(cudaMemset(memory, 0, 4));
  EXPECT_EQ(read(memory, stream), -1);
  ASSERT_DONE(cudaStreamSynchronize(nullptr));
  EXPECT_EQ(read(memory, stream), 0);
}

TEST_F(Simulation, handlesAreOfTheirDevice) {
  cudaEvent_t event = nullptr;
  ASSERT_DONE(cudaSetDevice(2));
  ASSERT_DONE(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  EXPECT_EQ(cudaEventRecord(event, stream), cudaErrorInvalidResourceHandle);
  EXPECT_FALSE(
      launch(setKernel, {dim3(1), 1}, stream, static_cast<int *>(nullptr), 1)
          .isOk());
  ASSERT_DONE(cudaSetDevice(0));
  EXPECT_EQ(cudaSetDevice(100), cudaErrorInvalidDevice);
}

TEST_F(Simulation, handlesThatAreGone) {
  ASSERT_DONE(cudaStreamDestroy(stream));
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaErrorInvalidResourceHandle);
}

TEST_F(Simulation, launchesThatNoGpuTakes) {
  for (Grid grid : {Grid{dim3(0), 32}, Grid{dim3(1), 1025},
                    Grid{dim3(1, 65536), 32}, Grid{dim3(1), 32, 49153}}) {
    runtime::Status status =
        launch(setKernel, grid, stream, static_cast<int *>(nullptr), 1);
    EXPECT_NE(status.message().find("cudaErrorInvalidConfiguration"),
              std::string::npos)
        << status.message();
  }
}

/// Its registers are for more threads than those of others.
__global__ __launch_bounds__(512) void wideKernel(int *to, int value) {
  *to = value;
}

/// That nothing is spilled does not say that a block has so many registers.
TEST_F(Simulation, moreThreadsThanAKernelHasRegistersFor) {
  int *memory = onGpu<int>(512);
  const std::pair<void (*)(int *, int), unsigned> most[] = {{setKernel, 256},
                                                            {wideKernel, 512}};
  for (auto [kernel, threads] : most) {
    EXPECT_TRUE(launch(kernel, {dim3(1), threads}, stream, memory, 1).isOk());
    const runtime::Status status =
        launch(kernel, {dim3(1), threads + 1}, stream, memory, 1);
    EXPECT_NE(status.message().find("cudaErrorLaunchOutOfResources"),
              std::string::npos)
        << status.message();
  }
}

//===--- Kernels ----------------------------------------------------------===//

/// Each block adds up its threads' numbers.
__global__ void sumKernel(int *to) {
  auto *shared = reinterpret_cast<int *>(runtime::cuda::sharedMemory());
  shared[threadIdx.x] = static_cast<int>(threadIdx.x);
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half)
      shared[threadIdx.x] += shared[threadIdx.x + half];
  }
  int ofWarp = static_cast<int>(threadIdx.x);
  for (int mask = warpSize / 2; mask > 0; mask /= 2)
    ofWarp += __shfl_xor_sync(0xffffffff, ofWarp, mask);
  if (threadIdx.x == 0)
    to[blockIdx.x] = shared[0] + ofWarp;
}

TEST_F(Simulation, threadsMeetInBarriersAndShuffles) {
  int *memory = onGpu<int>(2);
  const runtime::Status status =
      launch(sumKernel, {dim3(2), 64, 64 * sizeof(int), true}, stream, memory);
  ASSERT_TRUE(status.isOk()) << status.message();
  EXPECT_EQ(read(memory, stream), 64 * 63 / 2 + 32 * 31 / 2);
  EXPECT_EQ(read(memory + 1, stream), 64 * 63 / 2 + 32 * 31 / 2);
}

__global__ void meetForEverKernel(int *to) {
  if (threadIdx.x == 0)
    __syncthreads(); // the others do not come
  to[0] = 1;
}

TEST_F(SimulationDeathTest, aBarrierThatNotAllThreadsComeTo) {
  int *memory = onGpu<int>(1);
  EXPECT_DEATH(
      {
        (void)launch(meetForEverKernel, {dim3(1), 32, 0, true}, stream, memory);
        cudaStreamSynchronize(stream);
      },
      "a thread of a block waits for one that has ended");
}

TEST_F(SimulationDeathTest, sharedMemoryThatNobodyAskedFor) {
  int *memory = onGpu<int>(2);
  EXPECT_DEATH(
      {
        (void)launch(sumKernel, {dim3(2), 64, 63 * sizeof(int), true}, stream,
                     memory);
        cudaStreamSynchronize(stream);
      },
      "a block wrote beyond the 252 bytes of shared memory");
}

TEST_F(Simulation, manyBlocksOfThreadsThatMeet) {
  constexpr unsigned kBlocks = 500;
  int *memory = onGpu<int>(kBlocks);
  const runtime::Status status = launch(
      sumKernel, {dim3(kBlocks), 256, 256 * sizeof(int), true}, stream, memory);
  ASSERT_TRUE(status.isOk()) << status.message();
  EXPECT_EQ(read(memory + kBlocks - 1, stream), 256 * 255 / 2 + 32 * 31 / 2);
}

//===--- NCCL -------------------------------------------------------------===//

TEST_F(SimulatedRanks, aCollectiveWaitsForAllRanks) {
  EXPECT_EQ(reduce(0), ncclInProgress);
  EXPECT_EQ(state(0), ncclSuccess);
  EXPECT_EQ(cudaStreamQuery(streams[0]), cudaErrorNotReady);
  EXPECT_EQ(cudaStreamQuery(streams[0]), cudaErrorNotReady);
  EXPECT_EQ(reduce(1), ncclInProgress);
  EXPECT_EQ(cudaStreamQuery(streams[0]), cudaErrorNotReady);
  EXPECT_EQ(state(1), ncclSuccess);
  EXPECT_EQ(read(memory[0], streams[0]), 0x03030303);
  EXPECT_EQ(read(memory[1], streams[1]), 0x03030303);
}

TEST_F(SimulatedRanks, aCallIsOverBeforeTheNext) {
  EXPECT_EQ(reduce(0), ncclInProgress);
  EXPECT_EQ(reduce(0), ncclInvalidArgument);
  EXPECT_STREQ(ncclGetLastError(comms[0]),
               "a call before the one before it is over");
}

TEST_F(SimulatedRanks, ranksThatDoNotFitFail) {
  for (int rank : {0, 1}) {
    EXPECT_EQ(reduce(rank, rank + 1), ncclInProgress);
    (void)state(rank);
  }
  EXPECT_EQ(state(0), ncclInvalidUsage);
  EXPECT_EQ(cudaStreamQuery(streams[0]), cudaErrorNotReady);
  EXPECT_EQ(cudaStreamQuery(streams[0]), cudaErrorNotReady);
}

TEST_F(SimulatedRanks, anAbortEndsWhatWaits) {
  EXPECT_EQ(reduce(0), ncclInProgress);
  EXPECT_EQ(state(0), ncclSuccess);
  std::thread later([&] { EXPECT_EQ(ncclCommAbort(comms[0]), ncclSuccess); });
  EXPECT_EQ(read(memory[0], streams[0]), 0x01010101);
  later.join();
  EXPECT_EQ(reduce(0), ncclInvalidArgument);
}

TEST_F(SimulatedRanks, sendsMeetInGroupsInAnyOrder) {
  for (int rank : {0, 1}) {
    cudaSetDevice(rank);
    ASSERT_EQ(ncclGroupStart(), ncclSuccess);
    for (int peer : {0, 1}) {
      ASSERT_EQ(ncclRecv(memory[rank] + 2 + peer, 4, ncclUint8, peer,
                         comms[rank], streams[rank]),
                ncclSuccess);
      ASSERT_EQ(ncclSend(memory[rank], 4, ncclUint8, peer, comms[rank],
                         streams[rank]),
                ncclSuccess);
    }
    ASSERT_EQ(ncclGroupEnd(), ncclInProgress);
    EXPECT_EQ(state(rank), ncclSuccess);
  }
  for (int rank : {0, 1}) {
    EXPECT_EQ(read(memory[rank] + 2, streams[rank]), 0x01010101);
    EXPECT_EQ(read(memory[rank] + 3, streams[rank]), 0x02020202);
  }
}

} // namespace
} // namespace shardc::testing
