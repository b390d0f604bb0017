//===- WeightCopyTest.cpp - Elements that a rank owns ---------------------===//

#include "compiler/package/WeightCopy.h"
#include "tests/unit/Shardings.h"

using namespace shardc;
using namespace shardc::testing;
using package::ElementRange;

namespace {

/// Elements of a row-major tensor that a rank owns, from the definition alone.
std::vector<uint64_t> ownedElements(const dist::Sharding &sharding,
                                    const dist::Mesh &mesh, int64_t rank) {
  std::vector<uint64_t> elements{0};
  for (const dist::DimSharding &dim : sharding.dims) {
    std::vector<uint64_t> next;
    for (uint64_t element : elements)
      for (int64_t index : owned(dim, mesh, rank))
        next.push_back(element * *dim.size().asConstant() + index);
    elements = std::move(next);
  }
  return elements;
}

TEST(OwnedRanges, CutsColumns) {
  dist::Sharding columns;
  columns.dims = {dist::DimSharding::unsplit(4),
                  dist::DimSharding::whole(6, {axis(2)})};
  std::vector<ElementRange> ranges =
      package::ownedRanges(columns, {{{"tp", 2}}}, 1);
  ASSERT_EQ(ranges.size(), 4u);
  for (size_t row = 0; row < 4; ++row) {
    EXPECT_EQ(ranges[row].start, row * 6 + 3);
    EXPECT_EQ(ranges[row].count, 3u);
  }
}

TEST(OwnedRanges, MergesWhatTouches) {
  dist::Sharding rows;
  rows.dims = {dist::DimSharding::whole(4, {axis(2)}),
               dist::DimSharding::unsplit(6)};
  std::vector<ElementRange> ranges =
      package::ownedRanges(rows, {{{"tp", 2}}}, 1);
  ASSERT_EQ(ranges.size(), 1u);
  EXPECT_EQ(ranges[0].start, 12u);
  EXPECT_EQ(ranges[0].count, 12u);
}

TEST(OwnedRanges, AgreeWithOwnership) {
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
        std::vector<uint64_t> elements;
        for (const ElementRange &range :
             package::ownedRanges(sharding, mesh, rank))
          for (uint64_t i = 0; i < range.count; ++i)
            elements.push_back(range.start + i);
        EXPECT_EQ(elements, ownedElements(sharding, mesh, rank))
            << sharding.str() << ", rank " << rank;
      }
}

TEST(WriteElements, HalvesOfBytesArePackedAnew) {
  mlir::MLIRContext context;
  auto written = [&](llvm::ArrayRef<ElementRange> ranges, unsigned width) {
    std::string text;
    llvm::raw_string_ostream out(text);
    package::writeElements("\x10\x32\x54\x76", ranges,
                           mlir::IntegerType::get(&context, width), out);
    return text;
  };
  EXPECT_EQ(written({{1, 2}}, 8), "\x32\x54");
  EXPECT_EQ(written({{0, 8}}, 4), "\x10\x32\x54\x76");
  EXPECT_EQ(written({{1, 2}, {5, 1}}, 4), "\x21\x05");
  EXPECT_EQ(written({{3, 4}}, 4), "\x43\x65");
  EXPECT_EQ(written({}, 4), "");
}

} // namespace
