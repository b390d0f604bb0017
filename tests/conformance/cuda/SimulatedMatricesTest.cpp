//===- SimulatedMatricesTest.cpp - What simulated tensor cores refuse -----===//
#include "runtime/device/cuda/kernels/product/WarpMatrices.h"
#include "tests/conformance/cuda/SimulationFixture.h"

namespace shardc::testing {
namespace {

using namespace nvcuda;
using runtime::cuda::launch;
using runtime::cuda::sharedMemory;

class SimulatedMatrices : public Simulation {
protected:
  /// One block.
  template <typename... Arguments>
  void run(void (*kernel)(Arguments...), unsigned threads,
           Arguments... arguments) {
    const runtime::Status status =
        launch(kernel, {dim3(1), threads, kBytes, true}, stream, arguments...);
    ASSERT_TRUE(status.isOk()) << status.message();
    ASSERT_DONE(cudaStreamSynchronize(stream));
  }
  static constexpr size_t kBytes = 4096;
};
using SimulatedMatricesDeathTest = SimulatedMatrices;

template <typename T, typename Layout>
using Columns = wmma::fragment<wmma::matrix_b, 16, 16, 16, T, Layout>;
template <typename T>
using Rows = wmma::fragment<wmma::matrix_a, 16, 16, 16, T, wmma::row_major>;
using Sums = wmma::fragment<wmma::accumulator, 16, 16, 16, float>;

constexpr int kStride = 24; ///< with a gap

/// A[i][k] = i - k, B[k][j] = k + 2 j or its transposed, and 1 more.
template <typename T, typename Layout>
__global__ void multiplyKernel(float *to) {
  auto *a = reinterpret_cast<T *>(sharedMemory()), *b = a + 16 * kStride;
  for (int i = laneOfThread(); i < 256; i += warpSize) {
    const int row = i / 16, column = i % 16;
    const bool isByColumns = std::is_same_v<Layout, wmma::col_major>;
    a[row * kStride + column] = T(float(row - column));
    b[row * kStride + column] =
        T(float(isByColumns ? column + 2 * row : row + 2 * column));
  }
  __syncwarp();
  Rows<T> rows;
  Columns<T, Layout> columns;
  Sums sums;
  wmma::fill_fragment(sums, 1.f);
  wmma::load_matrix_sync(rows, a, kStride);
  wmma::load_matrix_sync(columns, b, kStride);
  wmma::mma_sync(sums, rows, columns, sums);
  wmma::store_matrix_sync(to, sums, 16, wmma::mem_row_major);
}

TEST_F(SimulatedMatrices, multiplyOfAWarp) {
  for (auto kernel : {multiplyKernel<__half, wmma::row_major>,
                      multiplyKernel<__half, wmma::col_major>,
                      multiplyKernel<__nv_bfloat16, wmma::row_major>,
                      multiplyKernel<__nv_bfloat16, wmma::col_major>}) {
    auto *memory = onGpu<std::array<float, 256>>(1);
    run(kernel, 32, memory->data());
    const auto found = read(memory, stream);
    for (int i = 0; i < 16; ++i)
      for (int j = 0; j < 16; ++j) {
        float expected = 1;
        for (int k = 0; k < 16; ++k)
          expected += float((i - k) * (k + 2 * j));
        EXPECT_EQ(found[size_t(i * 16 + j)], expected) << i << ", " << j;
      }
  }
}

__global__ void someLanesKernel(int lanes) {
  Sums sums;
  wmma::fill_fragment(sums, 0.f);
  if (laneOfThread() < lanes)
    wmma::store_matrix_sync(reinterpret_cast<float *>(sharedMemory()), sums, 16,
                            wmma::mem_row_major);
}

TEST_F(SimulatedMatricesDeathTest, allLanesCome) {
  run(someLanesKernel, 32, 32);
  EXPECT_DEATH(run(someLanesKernel, 32, 31), "waits for one that has ended");
  EXPECT_DEATH(run(someLanesKernel, 48, 32), "a warp that is not whole");
}

/// Lanes from `other` on come with a distance of their own.
__global__ void placeKernel(int first, int stride, int other) {
  Rows<__half> rows;
  wmma::load_matrix_sync(
      rows, reinterpret_cast<__half *>(sharedMemory()) + first,
      unsigned(laneOfThread() < other ? stride : 2 * stride));
}

TEST_F(SimulatedMatricesDeathTest, allLanesComeWithOneMatrix) {
  run(placeKernel, 32, 0, 16, 32);
  EXPECT_DEATH(run(placeKernel, 32, 0, 16, 31), "with different arguments");
}

TEST_F(SimulatedMatricesDeathTest, memoryIsAligned) {
  run(placeKernel, 32, 16, 24, 32);
  EXPECT_DEATH(run(placeKernel, 32, 8, 24, 32), "not aligned to 256 bits");
  EXPECT_DEATH(run(placeKernel, 32, 16, 20, 32), "no multiple of 16 bytes");
}

/// Each lane writes 8 numbers, and reads what others wrote.
__global__ void hastyKernel(float *to, bool waits) {
  auto *shared = reinterpret_cast<__half *>(sharedMemory());
  for (int i = 0; i < 8; ++i)
    shared[248 - firstOfLane() + i] = __half(1.f);
  if (waits)
    __syncwarp();
  Rows<__half> rows;
  Columns<__half, wmma::row_major> columns;
  Sums sums;
  wmma::fill_fragment(sums, 0.f);
  wmma::load_matrix_sync(rows, shared, 16);
  wmma::load_matrix_sync(columns, shared, 16);
  wmma::mma_sync(sums, rows, columns, sums);
  wmma::store_matrix_sync(to, sums, 16, wmma::mem_row_major);
}

TEST_F(SimulatedMatrices, lanesSeeWhatTheyWaitedFor) {
  auto *memory = onGpu<float>(256);
  run(hastyKernel, 32, memory, true);
  EXPECT_EQ(read(memory, stream), 16);
  run(hastyKernel, 32, memory, false);
  EXPECT_NE(read(memory, stream), 16);
}

//===--- Matrices in registers --------------------------------------------===//

using runtime::host::BFloat16;
using runtime::host::Float16;

/// A[i][k] = i - k, B[k][j] = k + 2 j or its transposed, and 1 more.
template <typename T, bool kTransposes>
__global__ void registersKernel(float *to) {
  auto *a = reinterpret_cast<T *>(sharedMemory()), *b = a + 16 * kStride;
  const int lane = laneOfThread();
  for (int i = lane; i < 256; i += warpSize) {
    const int row = i / 16, column = i % 16;
    a[row * kStride + column] = T(float(row - column));
    b[row * kStride + column] =
        T(float(kTransposes ? row + 2 * column : column + 2 * row));
  }
  __syncwarp();
  uint32_t rows[4], columns[4];
  runtime::cuda::loadMatrices(rows, a + lane % 16 * kStride + lane / 16 * 8);
  if (kTransposes)
    runtime::cuda::loadTransposed(columns,
                                  b + lane % 16 * kStride + lane / 16 * 8);
  else
    runtime::cuda::loadMatrices(
        columns, b + (lane % 8 + lane / 16 * 8) * kStride + lane / 8 % 2 * 8);
  for (int half = 0; half < 2; ++half) {
    float sums[4] = {1, 1, 1, 1};
    runtime::cuda::multiplyAdd<T>(sums, rows, columns[2 * half],
                                  columns[2 * half + 1]);
    for (int i = 0; i < 4; ++i)
      to[(lane / 4 + i / 2 * 8) * 16 + half * 8 + lane % 4 * 2 + i % 2] =
          sums[i];
  }
}

TEST_F(SimulatedMatrices, registersOfAWarpAreMultiplied) {
  for (auto kernel :
       {registersKernel<Float16, false>, registersKernel<Float16, true>,
        registersKernel<BFloat16, false>, registersKernel<BFloat16, true>}) {
    auto *memory = onGpu<std::array<float, 256>>(1);
    run(kernel, 32, memory->data());
    const auto found = read(memory, stream);
    for (int i = 0; i < 16; ++i)
      for (int j = 0; j < 16; ++j) {
        float expected = 1;
        for (int k = 0; k < 16; ++k)
          expected += float((i - k) * (k + 2 * j));
        EXPECT_EQ(found[size_t(i * 16 + j)], expected) << i << ", " << j;
      }
  }
}

__global__ void linesKernel(int first, int lanes) {
  uint32_t to[4];
  if (laneOfThread() < lanes)
    runtime::cuda::loadMatrices(to, sharedMemory() + first);
}

TEST_F(SimulatedMatricesDeathTest, linesAreAlignedToSharedMemory) {
  run(linesKernel, 32, 16, 32);
  EXPECT_DEATH(run(linesKernel, 32, 8, 32), "not aligned to 16 bytes");
  EXPECT_DEATH(run(linesKernel, 32, int(kBytes), 32), "not in shared memory");
  EXPECT_DEATH(run(linesKernel, 32, 16, 31), "waits for one that has ended");
}

//===--- Copies beside a thread -------------------------------------------===//

struct CopyCase {
  int to = 0, from = 0; ///< of bytes
  size_t bytes = 16, zeros = 0;
  bool waits = true;
};

__global__ void copyKernel(int *to, CopyCase c) {
  auto *shared = reinterpret_cast<int *>(sharedMemory());
  if (threadIdx.x == 0) {
    __pipeline_memcpy_async(sharedMemory() + c.to,
                            reinterpret_cast<std::byte *>(to) + c.from, c.bytes,
                            c.zeros);
    __pipeline_commit();
    to[4] = shared[0]; // too early
    if (c.waits)
      __pipeline_wait_prior(0);
    to[5] = shared[1];
    to[6] = shared[3];
  }
}

TEST_F(SimulatedMatrices, copiesAreSeenAfterAWait) {
  auto *memory = onGpu<int>(8);
  ASSERT_DONE(cudaMemsetAsync(memory, 1, 16, stream));
  run(copyKernel, 1, memory, {.zeros = 8});
  EXPECT_NE(read(memory + 4, stream), 0x01010101);
  EXPECT_EQ(read(memory + 5, stream), 0x01010101);
  EXPECT_EQ(read(memory + 6, stream), 0);
}

TEST_F(SimulatedMatricesDeathTest, copiesAreAlignedToSharedMemory) {
  auto *memory = onGpu<int>(8);
  for (const auto &[wrong, why] :
       std::initializer_list<std::pair<CopyCase, const char *>>{
           {{.bytes = 12}, "not of 4, 8 or 16 bytes"},
           {{.to = 8}, "not aligned to its size"},
           {{.from = 4}, "not aligned to its size"},
           {{.to = kBytes}, "leaves shared memory"},
           {{.waits = false}, "without a wait for its copies"}})
    EXPECT_DEATH(run(copyKernel, 1, memory, wrong), why);
}

} // namespace
} // namespace shardc::testing
