//===- WeightSliceTest.cpp - Parts of weights, packed piece by piece ------===//
#include "runtime/weights/WeightSlice.h"

#include "runtime/kernels/CopyBlock.h"
#include "runtime/tensor/CopyView.h"

#include <gtest/gtest.h>
#include <numeric>

namespace shardc::runtime {
namespace {

/// The slice in pieces of so many bytes, which need not be whole elements.
std::vector<uint16_t> packedInPieces(const WeightSlice &slice, int64_t piece) {
  std::vector<uint16_t> packed(static_cast<size_t>(slice.bytes) / 2);
  auto *to = reinterpret_cast<std::byte *>(packed.data());
  for (int64_t at = 0; at < slice.bytes; at += piece)
    copyPacked(slice, at, std::min(at + piece, slice.bytes), to + at);
  return packed;
}

TEST(WeightSlice, isPackedAsABlockIsCopied) {
  const int64_t dims[] = {3, 4, 5, 2};
  std::vector<uint16_t> whole(120);
  std::iota(whole.begin(), whole.end(), 0);
  const OwnedRuns some[] = {{3, 2, {{0, 1}, {2, 1}}},
                            {4, 2, {{1, 2}}},
                            {5, 3, {{0, 2}, {4, 1}}},
                            {2, 1, {{1, 1}}}};
  for (int chosen = 0; chosen < 16; ++chosen) {
    WeightSlice slice;
    slice.whole = packedView(whole.data(), artifact::ElementType_Float16, dims);
    std::vector<int64_t> local;
    slice.bytes = 2;
    for (int d = 0; d < 4; ++d) {
      slice.dims.push_back((chosen >> d) & 1 ? some[d]
                                             : OwnedRuns::whole(dims[d]));
      local.push_back(slice.dims.back().localSize);
      slice.bytes *= local.back();
    }
    std::vector<uint16_t> expected(static_cast<size_t>(slice.bytes) / 2);
    copyBlock(slice.dims, slice.whole,
              packedView(expected.data(), artifact::ElementType_Float16, local),
              BlockCopy::ToLocal);
    for (int64_t piece : {1, 3, 8, 1000})
      EXPECT_EQ(packedInPieces(slice, piece), expected)
          << chosen << " " << piece;
  }
}

TEST(WeightSlice, oneElementOfNoDims) {
  const uint16_t one = 7;
  WeightSlice slice;
  slice.whole = packedView(&one, artifact::ElementType_Float16, {});
  slice.bytes = 2;
  EXPECT_EQ(packedInPieces(slice, 1), std::vector<uint16_t>{7});
}

} // namespace
} // namespace shardc::runtime
