//===- OwnershipTest.cpp - Layouts against a naive oracle -----------------===//
#include "runtime/tensor/Ownership.h"

#include "tests/unit/runtime/ProgramBuilder.h"

#include <gtest/gtest.h>

#include <random>

namespace shardc::runtime {
namespace {

/// Sizes and indices as numbers; becomes a DimLayout with constant scalars.
struct PlainFactor {
  int64_t size, ways, index;
};
using PlainLayout = std::vector<std::vector<PlainFactor>>;

Status resolve(const PlainLayout &plain, OwnedRuns &owned) {
  test::ProgramBuilder p({});
  test::Layout layout;
  std::vector<int64_t> scalars;
  auto scalar = [&](int64_t value) {
    scalars.push_back(value);
    return static_cast<uint32_t>(scalars.size() - 1);
  };
  for (const auto &segment : plain) {
    layout.emplace_back();
    for (const PlainFactor &f : segment)
      layout.back().push_back({scalar(f.size), f.ways, scalar(f.index)});
  }
  p.weight("w", artifact::ElementType_Float32, {1}, {layout}, "");
  std::string bytes = p.finish();
  const auto *weight = artifact::GetProgram(bytes.data())->weights()->Get(0);
  return resolveLayout(*weight->layout()->Get(0), scalars, owned);
}

/// Asks for each element, digit by digit, whether the rank owns it.
std::vector<int64_t> ownedElements(const PlainLayout &layout) {
  std::vector<int64_t> elements;
  int64_t base = 0;
  for (const auto &segment : layout) {
    int64_t size = 1;
    for (const PlainFactor &f : segment)
      size *= f.size;
    for (int64_t e = 0; e < size; ++e) {
      int64_t rest = e;
      bool mine = true;
      for (size_t f = segment.size(); f-- > 0;) {
        int64_t digit = rest % segment[f].size;
        rest /= segment[f].size;
        mine &=
            digit >= segment[f].index * segment[f].size / segment[f].ways &&
            digit < (segment[f].index + 1) * segment[f].size / segment[f].ways;
      }
      if (mine)
        elements.push_back(base + e);
    }
    base += size;
  }
  return elements;
}

std::vector<int64_t> elementsOf(const OwnedRuns &owned) {
  std::vector<int64_t> elements;
  for (const OwnedRun &run : owned.runs)
    for (int64_t i = 0; i < run.length; ++i)
      elements.push_back(run.start + i);
  return elements;
}

TEST(Ownership, splitsPackedHeads) {
  // q|k|v of 6 heads of 2 elements over 4 ways; way 1 owns heads [1, 3).
  std::vector<PlainFactor> heads = {{6, 4, 1}, {2, 1, 0}};
  OwnedRuns owned;
  ASSERT_TRUE(resolve({heads, heads, heads}, owned).isOk());
  EXPECT_EQ(owned.globalSize, 36);
  EXPECT_EQ(owned.localSize, 12);
  EXPECT_EQ(owned.runs, (std::vector<OwnedRun>{{2, 4}, {14, 4}, {26, 4}}));
}

TEST(Ownership, agreesWithTheOracle) {
  std::mt19937 random(1);
  for (int round = 0; round < 3000; ++round) {
    PlainLayout layout(1 + random() % 3);
    for (auto &segment : layout)
      for (int f = static_cast<int>(random() % 4); f > 0; --f) {
        int64_t ways =
            random() % 2 ? 1 : 1 + static_cast<int64_t>(random() % 8);
        segment.push_back(
            {static_cast<int64_t>(random() % 7), ways,
             static_cast<int64_t>(random() % static_cast<uint64_t>(ways))});
      }
    OwnedRuns owned;
    ASSERT_TRUE(resolve(layout, owned).isOk());
    std::vector<int64_t> expected = ownedElements(layout);
    EXPECT_EQ(elementsOf(owned), expected);
    EXPECT_EQ(owned.localSize, static_cast<int64_t>(expected.size()));
    for (size_t r = 1; r < owned.runs.size(); ++r)
      EXPECT_GT(owned.runs[r].start,
                owned.runs[r - 1].start + owned.runs[r - 1].length);
  }
}

TEST(Ownership, waysPartitionADim) {
  for (int64_t ways : {1, 2, 3, 8})
    for (int64_t size : {0, 1, 2, 5, 12}) {
      int64_t next = 0;
      for (int64_t index = 0; index < ways; ++index) {
        OwnedRuns owned;
        ASSERT_TRUE(resolve({{{size, ways, index}}}, owned).isOk());
        EXPECT_EQ(owned.globalSize, size);
        for (int64_t element : elementsOf(owned))
          EXPECT_EQ(element, next++);
      }
      EXPECT_EQ(next, size);
    }
}

/// Way `index` of `ways` on a dim, counted within a block of `within` ways.
OwnedRuns ownedWithin(int64_t size, int64_t ways, int64_t index, int64_t within,
                      const std::vector<int64_t> &bounds = {}) {
  flatbuffers::FlatBufferBuilder b;
  auto factor = artifact::CreateFactorLayout(
      b, 0, ways, 1, within, bounds.empty() ? 0 : b.CreateVector(bounds));
  auto segment = artifact::CreateSegmentLayout(b, b.CreateVector(&factor, 1));
  b.Finish(artifact::CreateDimLayout(b, b.CreateVector(&segment, 1)));
  OwnedRuns owned;
  EXPECT_TRUE(resolveLayout(*flatbuffers::GetRoot<artifact::DimLayout>(
                                b.GetBufferPointer()),
                            std::vector<int64_t>{size, index}, owned)
                  .isOk());
  return owned;
}

TEST(Ownership, countsWithinWhatAGroupHolds) {
  // Rows [0, 7) over 2 x 3 ways: a group of 3 holds [0, 3) or [3, 7) together.
  for (int64_t block = 0; block < 2; ++block) {
    int64_t next = 0;
    for (int64_t i = 0; i < 3; ++i) {
      OwnedRuns owned = ownedWithin(7, 6, block * 3 + i, 2);
      EXPECT_EQ(owned.globalSize, block == 0 ? 3 : 4);
      for (int64_t element : elementsOf(owned))
        EXPECT_EQ(element, next++);
    }
    EXPECT_EQ(next, block == 0 ? 3 : 4);
  }
}

TEST(Ownership, boundsSayWhatUnequalWaysOwn) {
  std::mt19937 random(2);
  auto below = [&](int64_t end) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(end));
  };
  for (int round = 0; round < 500; ++round) {
    const int64_t groups = 1 + below(3), inGroup = 1 + below(4),
                  ways = groups * inGroup, size = below(40);
    std::vector<int64_t> bounds{0};
    for (int64_t way = 0; way < ways; ++way)
      bounds.push_back(bounds.back() + 1 + below(9));
    const auto begin = [&](int64_t way) {
      return bounds[static_cast<size_t>(way)] * size / bounds.back();
    };
    for (int64_t way = 0; way < ways; ++way) {
      const OwnedRuns owned = ownedWithin(size, ways, way, 1, bounds);
      EXPECT_EQ(owned.globalSize, size);
      EXPECT_EQ(owned.localSize, begin(way + 1) - begin(way));
      if (owned.localSize > 0)
        EXPECT_EQ(owned.runs,
                  (std::vector<OwnedRun>{{begin(way), owned.localSize}}));
      // Of what the ranks of a group hold together.
      const int64_t first = way / inGroup * inGroup;
      const OwnedRuns within = ownedWithin(size, ways, way, groups, bounds);
      EXPECT_EQ(within.globalSize, begin(first + inGroup) - begin(first));
      EXPECT_EQ(within.localSize, owned.localSize);
      if (within.localSize > 0)
        EXPECT_EQ(within.runs[0].start, begin(way) - begin(first));
    }
  }
  // 8 heads in shares of 3 and 1.
  EXPECT_EQ(ownedWithin(8, 2, 0, 1, {0, 3, 4}).localSize, 6);
  EXPECT_EQ(ownedWithin(8, 2, 1, 1, {0, 3, 4}).localSize, 2);
}

TEST(Ownership, doesNotOverflowOnHugeDims) {
  EXPECT_EQ(wayBegin(INT64_MAX, 64, 64), INT64_MAX);
  EXPECT_EQ(wayBegin(int64_t{1} << 62, 4, 3), int64_t{3} << 60);
  OwnedRuns owned;
  EXPECT_FALSE(
      resolve({{{int64_t{1} << 40, 1, 0}, {int64_t{1} << 40, 1, 0}}}, owned)
          .isOk());
}

TEST(Ownership, anIndexWithoutWayIsAnError) {
  OwnedRuns owned;
  EXPECT_FALSE(resolve({{{8, 2, 2}}}, owned).isOk());
  EXPECT_FALSE(resolve({{{8, 2, -1}}}, owned).isOk());
  EXPECT_FALSE(resolve({{{-8, 1, 0}}}, owned).isOk());
}

TEST(Ownership, knowsContiguousBlocks) {
  auto part = [](int64_t size, int64_t start, int64_t length) {
    return OwnedRuns{size, length, {{start, length}}};
  };
  auto whole = OwnedRuns::whole;
  int64_t offset = -1;
  std::vector<OwnedRuns> rows = {part(8, 4, 4), whole(3)};
  EXPECT_TRUE(isContiguousBlock(rows, offset));
  EXPECT_EQ(offset, 12);
  std::vector<OwnedRuns> columns = {whole(8), part(3, 1, 1)};
  EXPECT_FALSE(isContiguousBlock(columns, offset));
  std::vector<OwnedRuns> oneRow = {part(8, 5, 1), part(3, 1, 2)};
  EXPECT_TRUE(isContiguousBlock(oneRow, offset));
  EXPECT_EQ(offset, 16);
  std::vector<OwnedRuns> empty = {whole(8), OwnedRuns{3, 0, {}}};
  EXPECT_TRUE(isContiguousBlock(empty, offset));
}

TEST(Ownership, countsElementsThatShareBytesAsBytes) {
  using artifact::ElementType_UInt4;
  const OwnedRuns pieces = {16, 6, {{2, 4}, {8, 2}}};
  const std::vector<OwnedRuns> dims = {{4, 3, {{1, 3}}}, pieces};
  EXPECT_EQ(
      inWholeBytes(ElementType_UInt4, dims),
      (std::vector<OwnedRuns>{{4, 3, {{1, 3}}}, {8, 3, {{1, 2}, {4, 1}}}}));
  EXPECT_EQ(inWholeBytes(artifact::ElementType_Float32, dims), dims);
  // Of 2 bits the first begins within a byte;
  EXPECT_FALSE(inWholeBytes(artifact::ElementType_UInt2, dims));
  const auto isWhole = [](const OwnedRuns &last) {
    return inWholeBytes(ElementType_UInt4, std::vector<OwnedRuns>{last})
        .has_value();
  };
  EXPECT_FALSE(isWhole({16, 3, {{2, 3}}})); // it ends within one,
  EXPECT_FALSE(isWhole({15, 4, {{2, 4}}})); // or rows do.
  EXPECT_FALSE(inWholeBytes(ElementType_UInt4, {}));
}

} // namespace
} // namespace shardc::runtime
