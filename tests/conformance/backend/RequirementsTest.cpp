//===- RequirementsTest.cpp - Drivers and GPUs that cannot be used --------===//
#include "runtime/device/cuda/Requirements.h"

#include <gtest/gtest.h>

namespace shardc::runtime {
namespace {

void expectContains(const std::string &text, const std::string &part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(Requirements, noDriver) {
  const Status status = checkDriver({0, 13000, 0});
  EXPECT_EQ(status.code(), StatusCode::Artifact);
  expectContains(status.message(), "no NVIDIA driver: libcuda.so.1");
  expectContains(status.message(), "install a driver for CUDA 13.0");
}

TEST(Requirements, driverOfAnEarlierMajor) {
  expectContains(checkDriver({12080, 13000, 4}).message(),
                 "the NVIDIA driver is for CUDA 12.8, expected CUDA 13 or "
                 "newer; update the driver");
  EXPECT_TRUE(checkDriver({13000, 13010, 1}).isOk());
  EXPECT_TRUE(checkDriver({14000, 13000, 1}).isOk());
}

TEST(Requirements, driverWithoutGpus) {
  expectContains(checkDriver({13000, 13000, 0}).message(),
                 "shows no GPU; look at nvidia-smi and CUDA_VISIBLE_DEVICES");
}

TEST(Requirements, computeCapabilities) {
  EXPECT_EQ(deviceRefusal(8, 0), "");
  EXPECT_EQ(deviceRefusal(8, 9), "");
  EXPECT_EQ(deviceRefusal(10, 0), "");
  expectContains(deviceRefusal(7, 5),
                 "compute capability 7.5, expected 8.0 or newer");
}

TEST(Requirements, ncclOfAnotherMajor) {
  EXPECT_TRUE(checkNccl(22705, 22809).isOk());
  expectContains(checkNccl(30102, 22809).message(),
                 "libnccl.so.2 is NCCL 3.1.2, the plugin was built with "
                 "2.28.9; install NCCL 2");
}

} // namespace
} // namespace shardc::runtime
