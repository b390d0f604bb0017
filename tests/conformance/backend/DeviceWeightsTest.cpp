//===- DeviceWeightsTest.cpp - Weights on their way to a device -----------===//

#include "runtime/exec/DeviceWeights.h"
#include "tests/conformance/backend/BackendFixture.h"

namespace shardc::test {
namespace {

using namespace runtime;

/// Small ones that share a piece, one longer than several pieces, and none.
TEST_P(BackendTest, weightsArriveWhole) {
  const std::vector<int64_t> sizes = {
      7, 0, 64, int64_t{40} << 20, 1, 100'003, int64_t{16} << 20};
  std::vector<std::vector<unsigned char>> host;
  RankWeights weights;
  for (size_t w = 0; w < sizes.size(); ++w) {
    std::vector<unsigned char> &bytes =
        host.emplace_back(static_cast<size_t>(sizes[w]) + 1);
    for (size_t i = 0; i < bytes.size(); ++i)
      bytes[i] = static_cast<unsigned char>(i * 7 + i / 251 + w);
  }
  for (int again = 0; again < 2; ++again) // one slice may occur twice
    for (size_t w = 0; w < sizes.size(); ++w) {
      weights.data.push_back(reinterpret_cast<std::byte *>(host[w].data()));
      weights.bytes.push_back(sizes[w]);
    }
  DeviceWeights onDevice;
  ASSERT_OK(onDevice.upload(*device, *stream, weights));
  const std::vector<std::vector<unsigned char>> expected = host;
  for (auto &bytes : host)
    bytes.assign(bytes.size(), 0);
  for (size_t w = 0; w < weights.data.size(); ++w) {
    const auto size = static_cast<size_t>(weights.bytes[w]);
    const auto found =
        download<unsigned char>(const_cast<std::byte *>(weights.data[w]), size);
    EXPECT_TRUE(std::equal(found.begin(), found.end(),
                           expected[w % sizes.size()].begin()))
        << w;
  }
  EXPECT_EQ(weights.data[0], weights.data[sizes.size()]);
}

} // namespace
} // namespace shardc::test
