//===- BlockLayoutTest.cpp - Views of a part as views of the whole --------===//
#include "runtime/tensor/BlockLayout.h"

#include <gtest/gtest.h>
#include <random>

namespace shardc::runtime {
namespace {

using Sizes = std::vector<int64_t>;

OwnedRuns runOf(int64_t start, int64_t length, int64_t globalSize) {
  OwnedRuns owned{globalSize, length, {}};
  if (length > 0)
    owned.runs.push_back({start, length});
  return owned;
}

/// Number in the whole of each element of the part, in the part's order.
Sizes placesOf(const std::vector<OwnedRuns> &owned) {
  Sizes places = {0};
  for (const OwnedRuns &dim : owned) {
    Sizes next;
    for (int64_t before : places)
      for (const OwnedRun &run : dim.runs)
        for (int64_t i = 0; i < run.length; ++i)
          next.push_back(before * dim.globalSize + run.start + i);
    places = std::move(next);
  }
  return places;
}

TensorView viewOf(const Sizes &dims, const Sizes &strides) {
  TensorView view;
  view.rank = static_cast<int>(dims.size());
  std::copy(dims.begin(), dims.end(), view.dims);
  std::copy(strides.begin(), strides.end(), view.strides);
  return view;
}

/// Element numbers of a view, from `offset` on, in its own order.
Sizes elementsOf(const TensorView &view, int64_t offset) {
  Sizes elements = {offset};
  for (int d = 0; d < view.rank; ++d) {
    Sizes next;
    for (int64_t before : elements)
      for (int64_t i = 0; i < view.dims[d]; ++i)
        next.push_back(before + i * view.strides[d]);
    elements = std::move(next);
  }
  return elements;
}

/// Checks that places are those of the part's elements, if it is seen.
bool see(const std::vector<OwnedRuns> &owned, const Sizes &dims,
         const Sizes &strides, int64_t offset) {
  const std::optional<BlockLayout> layout = BlockLayout::of(owned);
  EXPECT_TRUE(layout);
  TensorView view = viewOf(dims, strides);
  const Sizes parts = elementsOf(view, offset);
  int64_t seenOffset = offset;
  if (!layout->see(view, seenOffset)) {
    EXPECT_EQ(seenOffset, offset);
    EXPECT_EQ(Sizes(view.strides, view.strides + view.rank), strides);
    return false;
  }
  const Sizes places = placesOf(owned);
  Sizes expected;
  for (int64_t part : parts)
    expected.push_back(places.at(static_cast<size_t>(part)));
  Sizes found = elementsOf(view, layout->first() + seenOffset);
  EXPECT_EQ(found, expected);
  for (int64_t place : found)
    EXPECT_LT(place, layout->first() + layout->extent());
  return true;
}

const std::vector<OwnedRuns> kColumns = {runOf(0, 4, 4), runOf(3, 3, 6)};

TEST(BlockLayout, ColumnsOfAMatrix) {
  EXPECT_TRUE(see(kColumns, {4, 3}, {3, 1}, 0));
  EXPECT_TRUE(see(kColumns, {3, 4}, {1, 3}, 0)) << "transposed";
  EXPECT_TRUE(see(kColumns, {2, 4, 3}, {0, 3, 1}, 0)) << "broadcast";
  EXPECT_TRUE(see(kColumns, {2, 3}, {6, 1}, 3)) << "every other row";
  EXPECT_TRUE(see(kColumns, {2, 2, 3}, {6, 3, 1}, 0)) << "rows as two dims";
  EXPECT_TRUE(see(kColumns, {3}, {1}, 6)) << "one row";
  EXPECT_TRUE(see(kColumns, {1, 1}, {7, 5}, 11)) << "the last element";
  EXPECT_TRUE(see(kColumns, {0, 3}, {3, 1}, 0)) << "nothing";
  EXPECT_FALSE(see(kColumns, {12}, {1}, 0)) << "from row to row";
  EXPECT_FALSE(see(kColumns, {3}, {1}, 1)) << "into the next row";
  EXPECT_FALSE(see(kColumns, {3}, {2}, 0));
  EXPECT_FALSE(see(kColumns, {4, 3}, {3, -1}, 2));
}

TEST(BlockLayout, HeadsOfColumns) {
  const std::vector<OwnedRuns> heads = {runOf(0, 8, 8), runOf(12, 12, 24)};
  EXPECT_TRUE(see(heads, {8, 3, 4}, {12, 4, 1}, 0));
  EXPECT_TRUE(see(heads, {3, 4, 8}, {4, 1, 12}, 0));
  EXPECT_TRUE(see(heads, {3, 8, 2}, {4, 12, 1}, 2));
  EXPECT_FALSE(see(heads, {8, 4, 4}, {12, 4, 1}, 0)) << "a head too many";
}

TEST(BlockLayout, DimsThatLieDenseAreOne) {
  // Matrices of some experts are one piece, their rows are not.
  const std::vector<OwnedRuns> experts = {runOf(2, 2, 6), runOf(0, 3, 3),
                                          runOf(0, 4, 4)};
  EXPECT_TRUE(see(experts, {24}, {1}, 0));
  EXPECT_TRUE(see(experts, {2, 12}, {12, 1}, 0));
  const std::vector<OwnedRuns> rows = {runOf(2, 2, 6), runOf(1, 2, 3),
                                       runOf(0, 4, 4)};
  EXPECT_TRUE(see(rows, {2, 8}, {8, 1}, 0));
  EXPECT_FALSE(see(rows, {16}, {1}, 0));
  EXPECT_TRUE(see(rows, {4, 2, 2}, {1, 8, 4}, 0));
}

TEST(BlockLayout, WhatIsNoBlock) {
  OwnedRuns two{9, 4, {{0, 2}, {5, 2}}};
  EXPECT_FALSE(BlockLayout::of(std::vector{runOf(0, 4, 4), two}));
  EXPECT_FALSE(BlockLayout::of(std::vector{runOf(0, 0, 4), runOf(0, 3, 3)}));
  EXPECT_TRUE(BlockLayout::of({})) << "a number";
}

/// Whatever a view is: what is seen has the part's elements.
TEST(BlockLayout, AnyViewOfAnyBlock) {
  std::mt19937 random(7);
  auto below = [&](int64_t count) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(count));
  };
  int numSeen = 0, numOthers = 0;
  for (int i = 0; i < 20000; ++i) {
    std::vector<OwnedRuns> owned;
    int64_t size = 1;
    for (int64_t d = 2 + below(2); d-- > 0;) {
      const int64_t whole = 2 + below(4), start = below(whole);
      owned.push_back(runOf(start, 1 + below(whole - start), whole));
      size *= owned.back().localSize;
    }
    const int64_t offset = below(size);
    Sizes dims, strides;
    int64_t left = size - 1 - offset;
    for (int64_t d = below(4); d-- > 0;) {
      strides.push_back(below(size + 1));
      const int64_t most = strides.back() == 0 ? 3 : left / strides.back() + 1;
      dims.push_back(1 + below(most));
      left -= (dims.back() - 1) * strides.back();
    }
    ++(see(owned, dims, strides, offset) ? numSeen : numOthers);
  }
  EXPECT_GT(numSeen, 1000);
  EXPECT_GT(numOthers, 300);
}

} // namespace
} // namespace shardc::runtime
