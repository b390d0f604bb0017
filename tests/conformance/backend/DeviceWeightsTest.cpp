//===- DeviceWeightsTest.cpp - Weights on their way to a device -----------===//

#include "runtime/weights/DeviceWeights.h"
#include "runtime/tensor/CopyView.h"
#include "tests/conformance/backend/BackendFixture.h"

#include <deque>

namespace shardc::test {
namespace {

using namespace runtime;

using Bytes = std::vector<unsigned char>;

Bytes someBytes(int64_t count, size_t seed) {
  Bytes bytes(static_cast<size_t>(count));
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<unsigned char>(i * 7 + i / 251 + seed);
  return bytes;
}

class DeviceWeightsTest : public BackendTest {
protected:
  void add(const WeightSlice &slice) {
    weights.slices.push_back(&slice);
    weights.data.push_back(nullptr);
    weights.bytes.push_back(slice.bytes);
  }
  /// By slice: whether a run reads it, or else the load-time program.
  Status upload(const std::vector<char> &stay) {
    SliceUses uses;
    for (char stays : stay) {
      uses.load.push_back(!stays);
      uses.first.push_back(stays ? uses.end++ : SliceUses::kNever);
    }
    SHARDC_RETURN_IF_ERROR(onDevice.place(*device, *stream, uses, weights));
    WeightWatch nobody;
    return onDevice.bring(*device, *stream, /*readsFiles=*/true, nobody);
  }
  Bytes found(size_t w) {
    return download<unsigned char>(const_cast<std::byte *>(weights.data[w]),
                                   static_cast<size_t>(weights.bytes[w]));
  }

  RankWeights weights;
  DeviceWeights onDevice;
};

/// Small ones that share a piece, one longer than several pieces, and none.
TEST_P(DeviceWeightsTest, arriveWhole) {
  const std::vector<int64_t> sizes = {
      7, 0, 64, int64_t{40} << 20, 1, 100'003, int64_t{16} << 20};
  std::vector<Bytes> host;
  std::deque<WeightSlice> slices;
  for (size_t w = 0; w < sizes.size(); ++w) {
    host.push_back(someBytes(sizes[w], w));
    slices.push_back(
        {reinterpret_cast<std::byte *>(host[w].data()), sizes[w], {}, {}});
  }
  for (int again = 0; again < 2; ++again) // one slice may occur twice
    for (const WeightSlice &slice : slices)
      add(slice);
  ASSERT_OK(upload(std::vector<char>(weights.slices.size(), 1)));
  const std::vector<Bytes> expected = host;
  if (!device->isHost()) // there they are read where they lie
    for (Bytes &bytes : host)
      bytes.assign(bytes.size(), 0);
  for (size_t w = 0; w < weights.slices.size(); ++w)
    EXPECT_TRUE(found(w) == expected[w % sizes.size()]) << w;
  EXPECT_EQ(weights.data[0], weights.data[sizes.size()]);
}

/// A matrix's columns in three runs, longer than a piece: packed on their way.
TEST_P(DeviceWeightsTest, piecesOfAFileArePackedOnTheWay) {
  constexpr int64_t kRows = 40'000, kColumns = 1000;
  const Bytes file = someBytes(kRows * kColumns, 3);
  const int64_t dims[] = {kRows, kColumns};
  WeightSlice slice;
  slice.whole = packedView(file.data(), artifact::ElementType_UInt8, dims);
  slice.dims = {OwnedRuns::whole(kRows),
                {kColumns, 508, {{3, 100}, {200, 401}, {900, 7}}}};
  slice.bytes = kRows * 508;
  add(slice);
  ASSERT_OK(upload({1}));
  Bytes expected;
  for (int64_t r = 0; r < kRows; ++r)
    for (const OwnedRun &run : slice.dims[1].runs) {
      const auto first = file.begin() + r * kColumns + run.start;
      expected.insert(expected.end(), first, first + run.length);
    }
  EXPECT_TRUE(found(0) == expected);
}

/// What is read only while loading makes room, and comes again if need be.
TEST_P(DeviceWeightsTest, someOnlyPass) {
  const Bytes bytes[] = {someBytes(100, 1), someBytes(200, 2)};
  std::deque<WeightSlice> slices;
  for (const Bytes &each : bytes)
    add(slices.emplace_back(
        WeightSlice{reinterpret_cast<const std::byte *>(each.data()),
                    static_cast<int64_t>(each.size()),
                    {},
                    {}}));
  ASSERT_OK(upload({1, 0}));
  const std::byte *stays = weights.data[0];
  EXPECT_TRUE(found(0) == bytes[0] && found(1) == bytes[1]);
  onDevice.freePassing();
  EXPECT_TRUE(found(0) == bytes[0]);
  ASSERT_OK(upload({0, 1})); // of another program
  EXPECT_EQ(weights.data[0], stays);
  EXPECT_TRUE(found(0) == bytes[0] && found(1) == bytes[1]);
  onDevice.freePassing();
  EXPECT_TRUE(found(1) == bytes[1]);
}

INSTANTIATE_TEST_SUITE_P(Backends, DeviceWeightsTest,
                         testing::Values("host", "fake", "cuda"),
                         [](const auto &info) { return info.param; });

} // namespace
} // namespace shardc::test
