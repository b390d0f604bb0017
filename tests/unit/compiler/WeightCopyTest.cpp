//===- WeightCopyTest.cpp - Byte ranges that a rank owns ------------------===//

#include "compiler/package/WeightCopy.h"
#include "tests/unit/passes/Shardings.h"

using namespace shardc;
using namespace shardc::testing;
using package::ByteRange;

namespace {

/// Bytes of a row-major tensor that a rank owns, from the definition alone.
std::vector<uint64_t> ownedBytes(const dist::Sharding &sharding,
                                 const dist::Mesh &mesh, int64_t rank,
                                 int64_t elementBytes) {
  std::vector<uint64_t> elements{0};
  for (const dist::DimSharding &dim : sharding.dims) {
    std::vector<uint64_t> next;
    for (uint64_t element : elements)
      for (int64_t index : owned(dim, mesh, rank))
        next.push_back(element * *dim.size().asConstant() + index);
    elements = std::move(next);
  }
  std::vector<uint64_t> bytes;
  for (uint64_t element : elements)
    for (int64_t i = 0; i < elementBytes; ++i)
      bytes.push_back(element * elementBytes + i);
  return bytes;
}

TEST(OwnedRanges, CutsColumns) {
  dist::Sharding columns;
  columns.dims = {dist::DimSharding::unsplit(4),
                  dist::DimSharding::whole(6, {axis(2)})};
  std::vector<ByteRange> ranges =
      package::ownedRanges(columns, {{{"tp", 2}}}, 1, 4);
  ASSERT_EQ(ranges.size(), 4u);
  for (size_t row = 0; row < 4; ++row) {
    EXPECT_EQ(ranges[row].offset, row * 24 + 12);
    EXPECT_EQ(ranges[row].length, 12u);
  }
}

TEST(OwnedRanges, MergesWhatTouches) {
  dist::Sharding rows;
  rows.dims = {dist::DimSharding::whole(4, {axis(2)}),
               dist::DimSharding::unsplit(6)};
  std::vector<ByteRange> ranges =
      package::ownedRanges(rows, {{{"tp", 2}}}, 1, 4);
  ASSERT_EQ(ranges.size(), 1u);
  EXPECT_EQ(ranges[0].offset, 48u);
  EXPECT_EQ(ranges[0].length, 48u);
}

TEST(OwnedRanges, AgreeWithOwnershipByteForByte) {
  dist::Mesh mesh{{{"dp", 2}, {"tp", 4}}};
  using dist::DimSharding;
  const DimSharding outer[] = {
      DimSharding::unsplit(6), DimSharding::whole(6, {axis(4)}),
      DimSharding::whole(6, {axis(2, 1, "dp"), axis(4)})};
  const DimSharding inner[] = {
      DimSharding::unsplit(15), dim({{{5, {axis(2, 1, "dp")}}, {3}}}),
      dim({{{4, {axis(2)}}, {2, {axis(2, 2)}}}, {{3, {axis(4)}}}, {{4}}})};
  for (const DimSharding &rows : outer)
    for (const DimSharding &columns : inner)
      for (int64_t rank = 0; rank < mesh.numRanks(); ++rank) {
        dist::Sharding sharding;
        sharding.dims = {rows, columns};
        std::vector<uint64_t> bytes;
        for (const ByteRange &range :
             package::ownedRanges(sharding, mesh, rank, 2))
          for (uint64_t i = 0; i < range.length; ++i)
            bytes.push_back(range.offset + i);
        EXPECT_EQ(bytes, ownedBytes(sharding, mesh, rank, 2))
            << sharding.str() << ", rank " << rank;
      }
}

} // namespace
