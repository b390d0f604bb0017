//===- SimulationFixture.h - Streams and ranks of simulated GPUs ----------===//
#ifndef SHARDC_TESTS_CONFORMANCE_CUDA_SIMULATIONFIXTURE_H
#define SHARDC_TESTS_CONFORMANCE_CUDA_SIMULATIONFIXTURE_H

#include "runtime/device/cuda/kernels/Launch.h"
#include "tests/conformance/cuda/SimulatedStream.h"

#include <gtest/gtest.h>
#include <nccl.h>

namespace shardc::testing {

#define ASSERT_DONE(expression) ASSERT_EQ(expression, cudaSuccess)

class Simulation : public ::testing::Test {
protected:
  void SetUp() override { stream = newStream(); }

  static cudaStream_t newStream() {
    cudaStream_t made = nullptr;
    EXPECT_EQ(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking),
              cudaSuccess);
    return made;
  }
  template <typename T> static T *onGpu(size_t count) {
    void *memory = nullptr;
    EXPECT_EQ(cudaMalloc(&memory, count * sizeof(T)), cudaSuccess);
    return static_cast<T *>(memory);
  }
  template <typename T> T read(const T *from, cudaStream_t on) {
    T value = {};
    EXPECT_EQ(
        cudaMemcpyAsync(&value, from, sizeof value, cudaMemcpyDeviceToHost, on),
        cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(on), cudaSuccess);
    return value;
  }

  cudaStream_t stream = nullptr;
};

/// Both ranks in one thread: what one enqueues is done when the other waits.
class SimulatedRanks : public Simulation {
protected:
  void SetUp() override {
    ncclUniqueId id;
    ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    for (int rank : {0, 1}) {
      ASSERT_DONE(cudaSetDevice(rank));
      EXPECT_EQ(ncclCommInitRankConfig(&comms[rank], 2, id, rank, &config),
                ncclInProgress);
      EXPECT_EQ(state(rank), rank == 0 ? ncclInProgress : ncclSuccess);
      streams[rank] = newStream();
      memory[rank] = onGpu<int>(4);
      ASSERT_DONE(cudaMemsetAsync(memory[rank], rank + 1, 4, streams[rank]));
    }
    EXPECT_EQ(state(0), ncclSuccess);
  }
  ncclResult_t state(int rank) {
    ncclResult_t result = ncclSuccess;
    EXPECT_EQ(ncclCommGetAsyncError(comms[rank], &result), ncclSuccess);
    return result;
  }
  ncclResult_t reduce(int rank, size_t count = 1) {
    cudaSetDevice(rank);
    return ncclAllReduce(memory[rank], memory[rank], count, ncclInt32, ncclSum,
                         comms[rank], streams[rank]);
  }

  ncclComm_t comms[2] = {};
  cudaStream_t streams[2] = {};
  int *memory[2] = {};
};

} // namespace shardc::testing

#endif // SHARDC_TESTS_CONFORMANCE_CUDA_SIMULATIONFIXTURE_H
