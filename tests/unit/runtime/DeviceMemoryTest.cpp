//===- DeviceMemoryTest.cpp - Whether ranks fit on their devices ----------===//
#include "runtime/exec/DeviceMemory.h"

#include <gtest/gtest.h>

namespace shardc::runtime {
namespace {

MemoryNeed need(int rank, int device, int64_t bytes, int64_t freeBytes) {
  return {"rank " + std::to_string(rank),
          "device " + std::to_string(device) + " (NVIDIA H200)", device, bytes,
          freeBytes};
}

void expectContains(const std::string &text, const std::string &part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(DeviceMemory, whatFitsIsNoError) {
  EXPECT_TRUE(checkMemory(std::vector<MemoryNeed>()).isOk());
  const std::vector<MemoryNeed> needs = {
      need(0, 0, 100, 100), need(1, 1, 40, 100), need(2, 1, 60, 100)};
  EXPECT_TRUE(checkMemory(needs).isOk());
}

TEST(DeviceMemory, oneRankIsTooLarge) {
  const std::vector<MemoryNeed> needs = {need(0, 0, 50, 100),
                                         need(1, 1, 250, 100)};
  const Status status = checkMemory(needs);
  EXPECT_EQ(status.code(), StatusCode::Artifact);
  expectContains(status.message(),
                 "rank 1 needs 250 bytes of weights on device 1 (NVIDIA H200), "
                 "which has 100 free");
  expectContains(status.message(), "at least 3 times as many devices");
}

TEST(DeviceMemory, ranksOfOneDeviceShareIt) {
  const std::vector<MemoryNeed> needs = {
      need(0, 0, 40, 100), need(1, 0, 40, 100), need(2, 0, 40, 100)};
  const Status status = checkMemory(needs);
  expectContains(status.message(),
                 "3 ranks, rank 0 among them, need 120 bytes");
  expectContains(status.message(), "2 ranks would fit on it");
}

TEST(DeviceMemory, nothingIsFree) {
  const std::vector<MemoryNeed> needs = {need(0, 0, 5, 0)};
  EXPECT_FALSE(checkMemory(needs).isOk());
}

} // namespace
} // namespace shardc::runtime
