//===- GrowingMemoryTest.cpp - Memory that grows in place -----------------===//
#include "runtime/base/AlignedBuffer.h"
#include "tests/conformance/backend/BackendFixture.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>

namespace shardc::test {
namespace {

using namespace runtime;

constexpr int64_t kMiB = 1 << 20;

class GrowingMemoryTest : public BackendTest {
protected:
  void SetUp() override {
    BackendTest::SetUp();
    if (!device)
      return;
    large = device->reserve(64 * kMiB);
    ASSERT_NE(large, nullptr);
    if (large->committed() > 0)
      GTEST_SKIP() << GetParam() << " has no pages";
  }

  void write(GrowingMemory &memory, int64_t at, std::vector<float> values) {
    ASSERT_OK(stream->copy(
        memory.data() + at, reinterpret_cast<std::byte *>(&values[0]),
        {static_cast<int64_t>(values.size() * sizeof(float))},
        CopyDirection::HostToDevice));
    ASSERT_OK(stream->synchronize());
  }

  std::unique_ptr<GrowingMemory> large;
};

std::vector<float> counted(size_t count, float first) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

TEST_P(GrowingMemoryTest, takesPagesAsTheyAreNeeded) {
  EXPECT_EQ(large->size(), 64 * kMiB);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(large->data()) % kBufferAlignment, 0u);
  EXPECT_TRUE(large->commit(0));
  EXPECT_EQ(large->committed(), 0);
  EXPECT_TRUE(large->commit(1));
  const int64_t page = large->committed();
  EXPECT_GT(page, 0);
  EXPECT_LE(page, 4 * kMiB);
  EXPECT_TRUE(large->commit(page));
  EXPECT_EQ(large->committed(), page) << "it has as much";
  EXPECT_TRUE(large->commit(page + 1));
  EXPECT_EQ(large->committed(), 2 * page);
  EXPECT_TRUE(large->commit(1));
  EXPECT_EQ(large->committed(), 2 * page) << "it does not shrink";
}

TEST_P(GrowingMemoryTest, keepsItsAddressAndWhatItHolds) {
  std::byte *const address = large->data();
  std::map<int64_t, float> written; // the last bytes of each page that came
  for (int64_t end :
       {int64_t{1}, 3 * kMiB, 3 * kMiB + 4, 17 * kMiB, 64 * kMiB}) {
    ASSERT_TRUE(large->commit(end));
    EXPECT_EQ(large->data(), address);
    EXPECT_GE(large->committed(), end);
    const int64_t last = large->committed() - 16;
    written[last] = static_cast<float>(end);
    write(*large, last, counted(4, written[last]));
    for (auto [at, first] : written)
      EXPECT_EQ(download<float>(address + at, 4), counted(4, first));
  }
}

TEST_P(GrowingMemoryTest, pagesLieBehindEachOther) {
  ASSERT_TRUE(large->commit(1));
  const int64_t page = large->committed();
  ASSERT_TRUE(large->commit(page + 1));
  write(*large, page - 8, counted(4, 5));
  DeviceBuffer copy = memory(16);
  ASSERT_OK(stream->copy(copy.data(), large->data() + page - 8, {16},
                         CopyDirection::DeviceToDevice));
  EXPECT_EQ(download<float>(copy.data(), 4), counted(4, 5));
}

TEST_P(GrowingMemoryTest, growsBesideWorkThatIsUnderWay) {
  ASSERT_TRUE(large->commit(kMiB));
  const std::vector<float> values = counted(kMiB / 4, 1);
  std::vector<float> back(values.size());
  ASSERT_OK(stream->copy(large->data(),
                         reinterpret_cast<const std::byte *>(values.data()),
                         {kMiB}, CopyDirection::HostToDevice));
  ASSERT_TRUE(large->commit(64 * kMiB)); // before it is done
  ASSERT_OK(stream->copy(large->data() + 63 * kMiB, large->data(), {kMiB},
                         CopyDirection::DeviceToDevice));
  ASSERT_OK(stream->copy(reinterpret_cast<std::byte *>(back.data()),
                         large->data() + 63 * kMiB, {kMiB},
                         CopyDirection::DeviceToHost));
  ASSERT_OK(stream->synchronize());
  EXPECT_EQ(back, values);
}

TEST_P(GrowingMemoryTest, doesNotGrowOverItsEnd) {
  ASSERT_TRUE(large->commit(1));
  const int64_t before = large->committed();
  EXPECT_FALSE(large->commit(64 * kMiB + 1));
  EXPECT_FALSE(large->commit(INT64_MAX));
  EXPECT_EQ(large->committed(), before);
  EXPECT_TRUE(large->commit(-1)) << "nothing is there";
}

TEST_P(GrowingMemoryTest, isAsItWasWhereTheDeviceHasNoMore) {
  // More than the device can have; some hosts promise all the same.
  const int64_t most = 4 * device->info().memoryBytes;
  std::unique_ptr<GrowingMemory> huge = device->reserve(most);
  ASSERT_NE(huge, nullptr);
  ASSERT_TRUE(huge->commit(16));
  write(*huge, 0, counted(4, 7));
  const int64_t before = huge->committed();
  if (huge->commit(most))
    GTEST_SKIP() << GetParam() << " promises more than it has";
  EXPECT_EQ(huge->committed(), before);
  EXPECT_EQ(download<float>(huge->data(), 4), counted(4, 7));
  EXPECT_TRUE(huge->commit(before + 1));
}

TEST_P(GrowingMemoryTest, givesBackWhatItTook) {
  const int64_t bytes = std::min(device->info().memoryBytes / 8, 512 * kMiB);
  for (int i = 0; i < 20; ++i) {
    // Addresses too: as many as the device has bytes.
    auto memory = device->reserve(device->info().memoryBytes);
    ASSERT_NE(memory, nullptr) << i;
    ASSERT_TRUE(memory->commit(bytes / 2)) << i;
    ASSERT_TRUE(memory->commit(bytes)) << i;
  }
}

TEST_P(GrowingMemoryTest, ofNoBytesHasAnAddress) {
  for (int64_t bytes : {0, 1, 4096}) {
    auto small = device->reserve(bytes);
    ASSERT_NE(small, nullptr) << bytes;
    EXPECT_NE(small->data(), nullptr) << bytes;
    EXPECT_EQ(small->size(), bytes);
    EXPECT_TRUE(small->commit(bytes));
    EXPECT_FALSE(small->commit(4 * kMiB));
  }
  EXPECT_EQ(device->reserve(-1), nullptr);
  EXPECT_EQ(device->reserve(INT64_MAX), nullptr);
}

TEST_P(GrowingMemoryTest, comesAtOnceWithoutPages) {
  setenv("SHARDC_FAKE_PAGE", "0", 1);
  setenv("SHARDC_SIMULATED_PAGE", "0", 1);
  std::unique_ptr<Device> plain;
  const Status status = backend->open(0, plain);
  std::unique_ptr<GrowingMemory> whole =
      status.isOk() ? plain->reserve(8 * kMiB) : nullptr;
  unsetenv("SHARDC_FAKE_PAGE");
  unsetenv("SHARDC_SIMULATED_PAGE");
  ASSERT_OK(status);
  ASSERT_NE(whole, nullptr);
  if (whole->committed() == 0)
    GTEST_SKIP() << device->info().name << " always has pages";
  EXPECT_EQ(whole->committed(), 8 * kMiB);
  EXPECT_TRUE(whole->commit(8 * kMiB));
  EXPECT_FALSE(whole->commit(8 * kMiB + 1));
  write(*whole, 8 * kMiB - 16, counted(4, 3));
  EXPECT_EQ(download<float>(whole->data() + 8 * kMiB - 16, 4), counted(4, 3));
}

INSTANTIATE_TEST_SUITE_P(Backends, GrowingMemoryTest,
                         testing::Values("host", "fake", "cuda"),
                         [](const auto &info) { return info.param; });

} // namespace
} // namespace shardc::test
