#include "runtime/tensor/CopyView.h"
#include "runtime/kernels/CopyBlock.h"
#include "runtime/tensor/SubByte.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

namespace shardc::runtime {
namespace {

template <typename T> constexpr artifact::ElementType typeOf() {
  switch (sizeof(T)) {
  case 1:
    return artifact::ElementType_UInt8;
  case 2:
    return artifact::ElementType_UInt16;
  case 4:
    return artifact::ElementType_UInt32;
  default:
    return artifact::ElementType_UInt64;
  }
}

/// Offset in elements of the `index`-th element in row-major order.
int64_t offsetOf(const TensorView &view, int64_t index) {
  int64_t offset = 0;
  for (int d = view.rank - 1; d >= 0; --d) {
    offset += index % view.dims[d] * view.strides[d];
    index /= view.dims[d];
  }
  return offset;
}

/// A view of random, not overlapping strides on `memory`.
template <typename T>
TensorView randomView(std::mt19937 &random, std::vector<T> &memory,
                      std::vector<int64_t> dims) {
  std::vector<size_t> order(dims.size());
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  TensorView view = packedView(nullptr, typeOf<T>(), dims);
  int64_t stride = 1, lowest = 0;
  for (size_t d : order) {
    stride += static_cast<int64_t>(random() % 2);
    view.strides[d] = random() % 4 == 0 ? -stride : stride;
    if (view.strides[d] < 0 && dims[d] > 0)
      lowest -= stride * (dims[d] - 1);
    stride *= std::max<int64_t>(dims[d], 1);
  }
  memory.assign(static_cast<size_t>(stride + 1), T{0});
  view.data = reinterpret_cast<std::byte *>(memory.data() - lowest);
  return view;
}

template <typename T> void copiesEveryElement() {
  std::mt19937 random(9);
  for (int round = 0; round < 500; ++round) {
    std::vector<int64_t> dims;
    for (int d = static_cast<int>(random() % 5); d > 0; --d)
      dims.push_back(static_cast<int64_t>(random() % 4));
    std::vector<T> from, to;
    TensorView source = randomView(random, from, dims);
    TensorView target = randomView(random, to, dims);
    std::iota(from.begin(), from.end(), T{1});
    copyView(target, source);
    for (int64_t i = 0; i < source.numElements(); ++i)
      ASSERT_EQ(target.as<T>()[offsetOf(target, i)],
                source.as<T>()[offsetOf(source, i)]);
  }
}

TEST(StridedCopy, copiesEveryElementOfEverySize) {
  copiesEveryElement<uint8_t>();
  copiesEveryElement<uint16_t>();
  copiesEveryElement<uint32_t>();
  copiesEveryElement<uint64_t>();
}

TEST(StridedCopy, broadcastsStrideZero) {
  std::vector<uint32_t> from = {1, 2, 3}, to(6);
  int64_t dims[] = {2, 3};
  TensorView source = packedView(from.data(), typeOf<uint32_t>(), dims);
  source.strides[0] = 0;
  copyView(packedView(to.data(), typeOf<uint32_t>(), dims), source);
  EXPECT_EQ(to, (std::vector<uint32_t>{1, 2, 3, 1, 2, 3}));
}

TEST(StridedCopy, blocksGoThereAndBack) {
  std::vector<uint32_t> global(4 * 6), local(2 * 4), back(4 * 6);
  std::iota(global.begin(), global.end(), 0);
  int64_t globalDims[] = {4, 6}, localDims[] = {2, 4};
  std::vector<OwnedRuns> dims = {{4, 2, {{1, 2}}}, {6, 4, {{0, 1}, {3, 3}}}};
  TensorView block = packedView(local.data(), typeOf<uint32_t>(), localDims);
  copyBlock(dims, packedView(global.data(), typeOf<uint32_t>(), globalDims),
            block, BlockCopy::ToLocal);
  EXPECT_EQ(local, (std::vector<uint32_t>{6, 9, 10, 11, 12, 15, 16, 17}));
  copyBlock(dims, packedView(back.data(), typeOf<uint32_t>(), globalDims),
            block, BlockCopy::ToGlobal);
  EXPECT_EQ(back[6], 6u);
  EXPECT_EQ(back[17], 17u);
  EXPECT_EQ(std::accumulate(back.begin(), back.end(), 0u), 96u);
}

TEST(StridedCopy, readsMisalignedFiles) {
  std::vector<char> file(4 * 6 + 1);
  std::vector<uint32_t> values = {0, 1, 2, 3, 4, 5}, local(3);
  std::memcpy(file.data() + 1, values.data(), 24);
  int64_t globalDims[] = {3, 2}, localDims[] = {3, 1};
  copyBlock(std::vector<OwnedRuns>{OwnedRuns::whole(3), {2, 1, {{1, 1}}}},
            packedView(file.data() + 1, typeOf<uint32_t>(), globalDims),
            packedView(local.data(), typeOf<uint32_t>(), localDims),
            BlockCopy::ToLocal);
  EXPECT_EQ(local, (std::vector<uint32_t>{1, 3, 5}));
}

/// [5, 3] elements of half a byte: rows begin in the middle of bytes.
TEST(StridedCopy, BlocksOfHalvesOfBytes) {
  std::byte whole[8];
  for (int i = 0; i < 8; ++i)
    whole[i] = std::byte(2 * i % 16 | (2 * i + 1) % 16 << 4);
  const int64_t dims[] = {5, 3};
  const TensorView global =
      packedView(whole, artifact::ElementType_UInt4, dims);
  for (int64_t first = 0; first < 3; ++first)
    for (int64_t column = 0; column < 2; ++column) {
      const OwnedRuns rows{5, 3, {{first, 3}}}, columns{3, 2, {{column, 2}}};
      const OwnedRuns block[] = {rows, columns};
      std::byte part[3] = {};
      const int64_t localDims[] = {3, 2};
      copyBlock(block, global,
                packedView(part, artifact::ElementType_UInt4, localDims),
                BlockCopy::ToLocal);
      for (int64_t i = 0; i < 6; ++i)
        EXPECT_EQ(readField(part, i, 4), (first + i / 2) * 3 + column + i % 2);
    }
}

/// [5, 3] elements of two bits, of which each part is copied from each place
/// within a byte to each other one.
TEST(StridedCopy, QuartersOfBytes) {
  std::byte whole[4] = {std::byte(0x1b), std::byte(0xe4), std::byte(0x93),
                        std::byte(0x36)};
  for (int64_t from = 0; from < 8; ++from)
    for (int64_t to = 0; to < 4; ++to)
      for (int64_t count = 1; count <= 8; ++count) {
        std::byte copied[4] = {std::byte(0xff), std::byte(0xff),
                               std::byte(0xff), std::byte(0xff)};
        TensorView source =
            packedView(whole, artifact::ElementType_UInt2, {&count, 1});
        TensorView target =
            packedView(copied, artifact::ElementType_UInt2, {&count, 1});
        advance(source, from);
        advance(target, to);
        copyView(target, source);
        for (int64_t i = 0; i < 16; ++i)
          EXPECT_EQ(readField(copied, i, 2),
                    i >= to && i < to + count
                        ? readField(whole, from + i - to, 2)
                        : 3u);
      }
}

} // namespace
} // namespace shardc::runtime
