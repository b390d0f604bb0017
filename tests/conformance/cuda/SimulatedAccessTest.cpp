//===- SimulatedAccessTest.cpp - Accesses that a GPU would not forgive ----===//
#include "tests/conformance/cuda/SimulationFixture.h"

#include <vector>

namespace shardc::testing {
namespace {

using runtime::cuda::Grid;
using runtime::cuda::launch;
using runtime::cuda::sharedMemory;

class SimulatedAccessDeathTest : public Simulation {
protected:
  template <typename... Parameters, typename... Arguments>
  bool run(void (*kernel)(Parameters...), const Grid &grid,
           Arguments... arguments) {
    return launch(kernel, grid, stream, arguments...).isOk() &&
           cudaStreamSynchronize(stream) == cudaSuccess;
  }
  static Grid warps(unsigned count) {
    return {dim3(1), 32 * count, 32 * count * sizeof(int), true};
  }
};
using SimulatedAccess = SimulatedAccessDeathTest;

//===--- Global memory ----------------------------------------------------===//

__global__ void readKernel(const int *from, int *to, int at) { *to = from[at]; }

TEST_F(SimulatedAccessDeathTest, memoryIsThatOfOneAllocationToTheByte) {
  int *memory = onGpu<int>(33), *to = onGpu<int>(1);
  EXPECT_TRUE(run(readKernel, {dim3(1), 1}, memory, to, 0));
  EXPECT_TRUE(run(readKernel, {dim3(1), 1}, memory, to, 32));
  for (int outside : {-1, 33})
    EXPECT_DEATH(run(readKernel, {dim3(1), 1}, memory, to, outside),
                 "are not all in one allocation");
}

__global__ void copyVectorKernel(const char *from, char *to) {
  *reinterpret_cast<int4 *>(to) = *reinterpret_cast<const int4 *>(from);
}

TEST_F(SimulatedAccessDeathTest, vectorsAreAligned) {
  char *memory = onGpu<char>(64), *to = onGpu<char>(16);
  EXPECT_TRUE(run(copyVectorKernel, {dim3(1), 1}, memory + 16, to));
  for (int by : {4, 8})
    EXPECT_EXIT(run(copyVectorKernel, {dim3(1), 1}, memory + by, to),
                ::testing::KilledBySignal(SIGILL), "");
}

//===--- Shared memory ----------------------------------------------------===//

/// Each thread takes what its neighbour has put there.
__global__ void neighbourKernel(int *to, int meeting) {
  auto *shared = reinterpret_cast<int *>(sharedMemory());
  const unsigned mine = threadIdx.x, next = (mine + 1) % blockDim.x;
  shared[mine] = static_cast<int>(mine);
  if (meeting == 2)
    __syncthreads();
  if (meeting == 1)
    __syncwarp();
  to[mine] = shared[next];
}

TEST_F(SimulatedAccessDeathTest, threadsMeetBetweenAWriteAndARead) {
  int *to = onGpu<int>(64);
  EXPECT_TRUE(run(neighbourKernel, warps(2), to, 2));
  EXPECT_EQ(read(to + 63, stream), 0);
  EXPECT_TRUE(run(neighbourKernel, warps(1), to, 1));
  EXPECT_TRUE(run(neighbourKernel, warps(1), to, 2));
  for (auto [count, meeting] : {std::pair(1u, 0), {2u, 0}, {2u, 1}})
    EXPECT_DEATH(run(neighbourKernel, warps(count), to, meeting),
                 "a race in shared memory");
}

__global__ void overwriteKernel(int *to, int meets) {
  auto *shared = reinterpret_cast<int *>(sharedMemory());
  shared[threadIdx.x] = 1;
  __syncthreads();
  to[threadIdx.x] = shared[0];
  if (meets)
    __syncthreads();
  if (threadIdx.x == 32)
    shared[0] = 2;
}

TEST_F(SimulatedAccessDeathTest, threadsMeetBetweenAReadAndAWrite) {
  int *to = onGpu<int>(64);
  EXPECT_TRUE(run(overwriteKernel, warps(2), to, 1));
  EXPECT_DEATH(run(overwriteKernel, warps(2), to, 0),
               "thread 32 writes what others read");
}

__global__ void bytesKernel(int *to) {
  sharedMemory()[threadIdx.x] = std::byte{1}; // neighbours in one word
  __syncthreads();
  *to = static_cast<int>(sharedMemory()[5]);
}

TEST_F(SimulatedAccess, bytesOfOneWordAreApart) {
  int *to = onGpu<int>(1);
  EXPECT_TRUE(run(bytesKernel, warps(2), to));
  EXPECT_EQ(read(to, stream), 1);
}

__global__ void countKernel(int *to, int meets) {
  auto *shared = reinterpret_cast<int *>(sharedMemory());
  if (threadIdx.x == 0)
    shared[0] = 0;
  if (meets)
    __syncthreads();
  atomicAdd(shared, 1);
  __syncthreads();
  *to = shared[0];
}

TEST_F(SimulatedAccessDeathTest, atomicAccessesMeetNoneOfAnotherKind) {
  int *to = onGpu<int>(1);
  EXPECT_TRUE(run(countKernel, warps(2), to, 1));
  EXPECT_EQ(read(to, stream), 64);
  EXPECT_DEATH(run(countKernel, warps(2), to, 0), "a race in shared memory");
}

__global__ void behindKernel(int *to, int at) {
  *to = reinterpret_cast<int *>(sharedMemory())[at];
}

TEST_F(SimulatedAccessDeathTest, sharedMemoryIsAsLongAsItWasAskedFor) {
  int *to = onGpu<int>(1);
  EXPECT_TRUE(run(behindKernel, {dim3(1), 1, 16}, to, 3));
  EXPECT_DEATH(run(behindKernel, {dim3(1), 1, 16}, to, 4),
               "leaves shared memory");
}

//===--- Meetings ---------------------------------------------------------===//

__global__ void twoBarriersKernel(int *to) {
  if (threadIdx.x < 32)
    __syncthreads();
  else
    __syncthreads();
  to[0] = 1;
}

__global__ void shuffleKernel(int *to, unsigned lanes, int few) {
  if (static_cast<int>(threadIdx.x) >= few)
    return;
  to[threadIdx.x] = __shfl_xor_sync(lanes, static_cast<int>(threadIdx.x), 1);
}

__global__ void twoShufflesKernel(int *to) {
  if (threadIdx.x < 16)
    to[threadIdx.x] = __shfl_sync(~0u, 1, 0);
  else
    to[threadIdx.x] = __shfl_sync(~0u, 2, 0);
}

TEST_F(SimulatedAccessDeathTest, threadsMeetInOnePlace) {
  int *to = onGpu<int>(64);
  EXPECT_DEATH(run(twoBarriersKernel, warps(2), to), "different barriers");
  EXPECT_DEATH(run(twoShufflesKernel, warps(1), to), "different shuffles");
}

TEST_F(SimulatedAccessDeathTest, aMaskNamesTheLanesThatCome) {
  int *to = onGpu<int>(32);
  EXPECT_TRUE(run(shuffleKernel, warps(1), to, ~0u, 32));
  EXPECT_TRUE(run(shuffleKernel, warps(1), to, 0xffu, 8));
  EXPECT_EQ(read(to + 7, stream), 6);
  EXPECT_DEATH(run(shuffleKernel, warps(1), to, ~0u, 8), "has ended");
  EXPECT_DEATH(run(shuffleKernel, warps(1), to, 0xfu, 8),
               "mask lacks the lane");
}

//===--- Order ------------------------------------------------------------===//

__global__ void ticketKernel(int *next, int *tickets, int meets) {
  if (meets)
    __syncthreads();
  tickets[blockIdx.x * blockDim.x + threadIdx.x] = atomicAdd(next, 1);
}

/// Which thread came as the how manieth.
class SimulatedOrder : public SimulatedAccess,
                       public ::testing::WithParamInterface<int> {
protected:
  std::vector<int> tickets(const char *order) {
    setenv("SHARDC_SIMULATED_ORDER", order, 1);
    int *next = onGpu<int>(1), *memory = onGpu<int>(128);
    EXPECT_EQ(cudaMemsetAsync(next, 0, 4, stream), cudaSuccess);
    EXPECT_TRUE(run(ticketKernel, {dim3(2), 64, 0, GetParam() == 1}, next,
                    memory, GetParam()));
    unsetenv("SHARDC_SIMULATED_ORDER");
    std::vector<int> found(128);
    EXPECT_EQ(cudaMemcpyAsync(found.data(), memory, 512, cudaMemcpyDeviceToHost,
                              stream),
              cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    return found;
  }
};

TEST_P(SimulatedOrder, isAnyThatAGpuMayTake) {
  std::vector<int> plain(128);
  for (int i = 0; i < 128; ++i)
    plain[static_cast<size_t>(i)] = i;
  EXPECT_EQ(tickets(""), plain);
  EXPECT_EQ(tickets("reverse"), std::vector<int>(plain.rbegin(), plain.rend()));
  std::vector<int> shuffled = tickets("random:3");
  EXPECT_NE(shuffled, plain);
  EXPECT_EQ(shuffled, tickets("random:3"));
  EXPECT_NE(shuffled, tickets("random:4"));
  std::sort(shuffled.begin(), shuffled.end());
  EXPECT_EQ(shuffled, plain);
}

INSTANTIATE_TEST_SUITE_P(WithAndWithoutBarriers, SimulatedOrder,
                         ::testing::Values(0, 1));

} // namespace
} // namespace shardc::testing
