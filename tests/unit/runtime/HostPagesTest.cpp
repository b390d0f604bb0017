//===- HostPagesTest.cpp - What growing memory takes of the system --------===//
#include "runtime/device/host/HostPages.h"

#include "runtime/base/AlignedBuffer.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <unistd.h>

namespace shardc::runtime {
namespace {

constexpr int64_t kBytes = 40 * kHugePage;

int64_t residentBytes() {
  long pages = 0, resident = 0;
  std::FILE *file = std::fopen("/proc/self/statm", "r");
  EXPECT_TRUE(file && std::fscanf(file, "%ld %ld", &pages, &resident) == 2);
  if (file)
    std::fclose(file);
  return resident * sysconf(_SC_PAGESIZE);
}

/// As the first positions of heads that lie outermost are.
TEST(HostPages, TakesLittleWhereLittleIsTouchedHereAndThere) {
  const auto memory = reserveHostPages(kBytes);
  ASSERT_TRUE(memory && memory->commit(kBytes));
  const int64_t before = residentBytes();
  for (int64_t at = 0; at < kBytes; at += kHugePage)
    memory->data()[at] = std::byte(1);
  EXPECT_LT(residentBytes() - before, 2 * kHugePage);
}

TEST(HostPages, TakesOneMoreAtMostWhereItFillsFromTheFront) {
  const auto memory = reserveHostPages(kBytes);
  ASSERT_TRUE(memory && memory->commit(kBytes));
  memory->fillsFromFront();
  EXPECT_EQ(reinterpret_cast<uintptr_t>(memory->data()) % kHugePage, 0u);
  const int64_t before = residentBytes();
  constexpr int64_t touched = 5 * kHugePage + 1;
  for (int64_t at = 0; at < touched; at += 4096)
    memory->data()[at] = std::byte(2);
  const int64_t taken = residentBytes() - before;
  EXPECT_GT(taken, 5 * kHugePage - kHugePage / 2);
  EXPECT_LT(taken, 6 * kHugePage + kHugePage / 2);
}

TEST(HostPages, GrowsInPlace) {
  const auto memory = reserveHostPages(kBytes);
  ASSERT_TRUE(memory && memory->commit(100));
  memory->fillsFromFront();
  EXPECT_EQ(memory->committed(), kHostPage);
  memory->data()[99] = std::byte(3);
  ASSERT_TRUE(memory->commit(kBytes));
  EXPECT_EQ(memory->data()[99], std::byte(3));
  memory->data()[kBytes - 1] = std::byte(4);
  EXPECT_FALSE(memory->commit(kBytes + 1));
}

} // namespace
} // namespace shardc::runtime
