//===- StagingTest.cpp - Values of a device, for the host -----------------===//
#include "runtime/device/Staging.h"
#include "runtime/tensor/CopyView.h"
#include "tests/conformance/backend/BackendFixture.h"

#include <numeric>

namespace shardc::test {
namespace {

using namespace runtime;

class StagingTest : public BackendTest {};

constexpr auto kFloat = artifact::ElementType_Float32;

TEST_P(StagingTest, fetchesStridedViews) {
  DeviceBuffer buffer = memory(24);
  upload(buffer, std::vector<float>{0, 1, 2, 3, 4, 5});
  Staging staging(*device, *stream);
  // [2, 3] transposed, and its rows from the last to the first.
  const int64_t dims[] = {3, 2};
  TensorView view = packedView(buffer.data(), kFloat, dims), onHost;
  view.strides[0] = 1;
  view.strides[1] = -3;
  view.data += 3 * 4;
  ASSERT_OK(staging.fetch(view, onHost));
  float packed[6];
  copyView(packedView(packed, kFloat, dims), onHost);
  EXPECT_EQ(std::vector<float>(packed, packed + 6),
            (std::vector<float>{3, 0, 4, 1, 5, 2}));
}

TEST_P(StagingTest, storesAndLeavesWhatIsBetween) {
  DeviceBuffer buffer = memory(24);
  upload(buffer, std::vector<float>{0, 1, 2, 3, 4, 5});
  Staging staging(*device, *stream);
  const int64_t dims[] = {2, 2}; // the last two columns of [2, 3]
  TensorView view = packedView(buffer.data() + 4, kFloat, dims), onHost;
  view.strides[0] = 3;
  ASSERT_OK(staging.prepare(view, onHost));
  for (int64_t r = 0; r < 2; ++r)
    for (int64_t c = 0; c < 2; ++c)
      onHost.as<float>()[r * onHost.strides[0] + c * onHost.strides[1]] =
          static_cast<float>(10 * r + c);
  ASSERT_OK(staging.store(onHost, view));
  EXPECT_EQ(download<float>(buffer.data(), 6),
            (std::vector<float>{0, 0, 1, 3, 10, 11}));
}

TEST_P(StagingTest, oneAfterTheOther) {
  DeviceBuffer buffer = memory(4000);
  Staging staging(*device, *stream);
  for (int64_t n : {1, 1000, 10}) {
    const TensorView view = packedView(buffer.data(), kFloat, {&n, 1});
    TensorView onHost;
    ASSERT_OK(staging.prepare(view, onHost));
    std::iota(onHost.as<float>(), onHost.as<float>() + n,
              static_cast<float>(n));
    ASSERT_OK(staging.store(onHost, view));
    ASSERT_OK(staging.fetch(view, onHost));
    EXPECT_EQ(onHost.as<float>()[n - 1], static_cast<float>(2 * n - 1));
  }
}

TEST_P(StagingTest, severalAreWaitedForTogether) {
  DeviceBuffer buffer = memory(24);
  upload(buffer, std::vector<float>{0, 1, 2, 3, 4, 5});
  const int64_t three = 3;
  Staging first(*device, *stream), second(*device, *stream);
  TensorView a, b;
  ASSERT_OK(
      first.startFetch(packedView(buffer.data(), kFloat, {&three, 1}), a));
  ASSERT_OK(second.startFetch(
      packedView(buffer.data() + 12, kFloat, {&three, 1}), b));
  ASSERT_OK(stream->synchronize());
  EXPECT_EQ(std::vector<float>(a.as<float>(), a.as<float>() + 3),
            (std::vector<float>{0, 1, 2}));
  EXPECT_EQ(std::vector<float>(b.as<float>(), b.as<float>() + 3),
            (std::vector<float>{3, 4, 5}));
}

TEST_P(StagingTest, halvesOfBytesKeepTheirNeighbours) {
  DeviceBuffer buffer = memory(2);
  upload(buffer, std::vector<uint8_t>{0x21, 0x43}); // 1 2 3 4
  Staging staging(*device, *stream);
  int64_t n = 2; // the middle two
  TensorView view =
      packedView(buffer.data(), artifact::ElementType_UInt4, {&n, 1});
  view.skipped = 1;
  TensorView onHost;
  ASSERT_OK(staging.prepare(view, onHost));
  *onHost.data = std::byte{0x87};
  ASSERT_OK(staging.store(onHost, view));
  // The host's copy of a view is itself: there is nothing to store.
  if (!device->isHost()) {
    EXPECT_EQ(download<uint8_t>(buffer.data(), 2),
              (std::vector<uint8_t>{0x71, 0x48}));
  }
}

TEST_P(StagingTest, nothing) {
  DeviceBuffer buffer = memory(0);
  Staging staging(*device, *stream);
  const int64_t dims[] = {0, 4};
  const TensorView view = packedView(buffer.data(), kFloat, dims);
  TensorView onHost;
  ASSERT_OK(staging.fetch(view, onHost));
  EXPECT_EQ(onHost.numElements(), 0);
  ASSERT_OK(staging.prepare(view, onHost));
  ASSERT_OK(staging.store(onHost, view));
  ASSERT_OK(stream->synchronize());
}

INSTANTIATE_TEST_SUITE_P(Backends, StagingTest,
                         testing::Values("host", "fake", "cuda"),
                         [](const auto &info) { return info.param; });

} // namespace
} // namespace shardc::test
