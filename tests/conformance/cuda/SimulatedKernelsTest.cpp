//===- SimulatedKernelsTest.cpp - Launches of generated kernels -----------===//
#include "tests/conformance/cuda/SimulatedDevice.h"

#include <gtest/gtest.h>
#include <numeric>
#include <vector>

namespace shardc::testing {
namespace {

constexpr char kCubin[] = SHARDC_HANDMADE_ARTIFACT "/kernels/sm_90.cubin";

cudaError_t load(cudaLibrary_t &library, const std::string &path) {
  return cudaLibraryLoadFromFile(&library, path.c_str(), nullptr, nullptr, 0,
                                 nullptr, nullptr, 0);
}

/// Launches of rows_scale over x [2, 3, 2, 4], whose dim 1 is the slowest.
class SimulatedKernels : public ::testing::Test {
protected:
  static constexpr int64_t kColumns = 4, kRows = 12, kSlot = 16;

  void SetUp() override {
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
              cudaSuccess);
    ASSERT_EQ(load(library, kCubin), cudaSuccess);
    ASSERT_EQ(cudaLibraryGetKernel(&kernel, library, "rows_scale"),
              cudaSuccess);
    std::vector<float> factors(kRows);
    std::iota(factors.begin(), factors.end(), 1.0f);
    x = onGpu(std::vector<float>(kRows * kColumns, 2));
    factor = onGpu(factors);
    out = onGpu(std::vector<float>(kRows * kColumns, -1));
    words = {asWord(x), asWord(factor), asWord(out), kColumns,
             // Extents and strides, fastest first.
             2, 3, 2, /**/ 4, 8, 24, /**/ 1, 2, 6, /**/ 4, 8, 24,
             /*scratch=*/0, kSlot};
  }

  static int64_t asWord(const void *memory) {
    return reinterpret_cast<int64_t>(memory);
  }
  float *onGpu(const std::vector<float> &values) {
    void *memory = nullptr;
    const size_t bytes = values.size() * sizeof(float);
    EXPECT_EQ(cudaMalloc(&memory, bytes), cudaSuccess);
    EXPECT_EQ(cudaMemcpyAsync(memory, values.data(), bytes,
                              cudaMemcpyHostToDevice, stream),
              cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    return static_cast<float *>(memory);
  }
  cudaError_t launch(dim3 blocks, unsigned threads, size_t sharedBytes) {
    std::vector<void *> arguments;
    for (int64_t &word : words)
      arguments.push_back(&word);
    return cudaLaunchKernel(kernel, blocks, dim3(threads), arguments.data(),
                            sharedBytes, stream);
  }
  std::vector<float> result() {
    std::vector<float> values(kRows * kColumns);
    EXPECT_EQ(cudaMemcpyAsync(values.data(), out, values.size() * 4,
                              cudaMemcpyDeviceToHost, stream),
              cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    return values;
  }

  static constexpr size_t kShared = 32 * 4 + kSlot * 4;
  cudaStream_t stream = nullptr;
  cudaLibrary_t library = nullptr;
  cudaKernel_t kernel = nullptr;
  float *x = nullptr, *factor = nullptr, *out = nullptr;
  std::vector<int64_t> words;
};

TEST_F(SimulatedKernels, takesRowsOfThreeDims) {
  ASSERT_EQ(launch(dim3(5), 64, kShared), cudaSuccess);
  std::vector<float> expected;
  for (int row = 1; row <= kRows; ++row)
    expected.insert(expected.end(), kColumns, 2.0f * static_cast<float>(row));
  EXPECT_EQ(result(), expected);
}

TEST_F(SimulatedKernels, refusesWhatAKernelCannotRunWith) {
  EXPECT_EQ(launch(dim3(5), 48, kShared), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch(dim3(5), 1024, kShared), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch(dim3(0), 32, kShared), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch(dim3(5), 32, 49153), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch(dim3(5), 32, kShared - 4), cudaErrorInvalidValue);
  words[4] = int64_t{1} << 31; // rows
  EXPECT_EQ(launch(dim3(5), 32, kShared), cudaErrorInvalidValue);
  words[4] = 2;
  words.back() = 8; // a slot without room for where a row begins
  EXPECT_EQ(launch(dim3(5), 32, kShared), cudaErrorInvalidValue);
  EXPECT_EQ(result(), std::vector<float>(kRows * kColumns, -1));
}

TEST_F(SimulatedKernels, scratchIsForEachBlock) {
  const float *scratch = onGpu(std::vector<float>(5 * kSlot));
  words[words.size() - 2] = asWord(scratch);
  EXPECT_EQ(launch(dim3(6), 32, 128), cudaErrorInvalidValue);
  EXPECT_EQ(launch(dim3(5), 32, 128), cudaSuccess);
  EXPECT_EQ(result()[0], 2);
}

TEST_F(SimulatedKernels, sharedMemoryBeyondTheUsualIsAskedFor) {
  EXPECT_EQ(cudaFuncSetAttribute(
                kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 100'000),
            cudaSuccess);
  EXPECT_EQ(launch(dim3(5), 32, 100'000), cudaSuccess);
  EXPECT_EQ(launch(dim3(5), 32, 100'001), cudaErrorInvalidConfiguration);
  EXPECT_EQ(result()[0], 2);
}

TEST_F(SimulatedKernels, operandsAreTheDevices) {
  ASSERT_EQ(cudaSetDevice(6), cudaSuccess); // no other test's
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
            cudaSuccess);
  words[7] = 1000; // from row to row of x
  ASSERT_EQ(launch(dim3(5), 32, kShared), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorIllegalAddress);
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
}

TEST_F(SimulatedKernels, whatIsNotThere) {
  cudaLibrary_t none = nullptr;
  EXPECT_EQ(load(none, SHARDC_HANDMADE_ARTIFACT "/kernels/sm_80.cubin"),
            cudaErrorFileNotFound);
  cudaKernel_t missing = nullptr;
  for (const char *name : {"rows_other", "rows_missing"})
    EXPECT_EQ(cudaLibraryGetKernel(&missing, library, name),
              cudaErrorSymbolNotFound);
  EXPECT_EQ(cudaLibraryUnload(library), cudaSuccess);
  EXPECT_EQ(launch(dim3(5), 32, kShared), cudaErrorInvalidDeviceFunction);
}

} // namespace
} // namespace shardc::testing
