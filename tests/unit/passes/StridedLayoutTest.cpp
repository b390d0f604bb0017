//===- StridedLayoutTest.cpp - Views against the elements they show -------===//

#include "passes/lower/StridedLayout.h"
#include "tests/unit/Shardings.h"

using namespace shardc;
using namespace shardc::testing;
using dist::DimExpr;
using lower::Sizes;
using lower::StridedLayout;

namespace {

/// Places of all elements in row-major order; sizes are constants.
std::vector<int64_t> places(const StridedLayout &layout) {
  std::vector<int64_t> all{*layout.offset.asConstant()};
  for (size_t d = 0; d < layout.dims.size(); ++d) {
    std::vector<int64_t> next;
    for (int64_t place : all)
      for (int64_t i = 0; i < *layout.dims[d].asConstant(); ++i)
        next.push_back(place + i * *layout.strides[d].asConstant());
    all = std::move(next);
  }
  return all;
}

std::vector<int64_t> count(int64_t n) {
  std::vector<int64_t> all(n);
  for (int64_t i = 0; i < n; ++i)
    all[i] = i;
  return all;
}

TEST(StridedLayout, ContiguousCountsUp) {
  StridedLayout layout = StridedLayout::contiguous({2, 3, 4});
  EXPECT_EQ(places(layout), count(24));
  EXPECT_TRUE(layout.isContiguous());
  EXPECT_FALSE(layout.transposed({0, 2, 1}).isContiguous());
  // A dim of 1 has no order.
  EXPECT_TRUE(StridedLayout::contiguous({3, 1, 4})
                  .transposed({1, 0, 2})
                  .isContiguous());
}

TEST(StridedLayout, TransposesSlicesAndRepeats) {
  StridedLayout layout = StridedLayout::contiguous({2, 3});
  EXPECT_EQ(places(layout.transposed({1, 0})),
            (std::vector<int64_t>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(places(layout.sliced(1, 1, 2)), (std::vector<int64_t>{1, 2, 4, 5}));
  EXPECT_EQ(places(layout.sliced(1, 2, 2, -2)),
            (std::vector<int64_t>{2, 0, 5, 3}));
  EXPECT_EQ(places(StridedLayout::contiguous({3}).broadcast({2, 3})),
            (std::vector<int64_t>{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(places(StridedLayout::contiguous({2, 1}).broadcast({2, 2})),
            (std::vector<int64_t>{0, 0, 1, 1}));
  EXPECT_EQ(places(StridedLayout::contiguous({6, 2}).expanded(0, {2, 3})),
            count(12));
}

TEST(StridedLayout, ReshapesKeepTheOrderOfElements) {
  const std::vector<std::vector<int64_t>> permutations = {
      {0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  const std::vector<Sizes> targets = {
      {24},       {2, 12},   {12, 2},      {6, 4},       {4, 6},    {3, 8},
      {8, 3},     {2, 3, 4}, {4, 3, 2},    {2, 2, 3, 2}, {3, 4, 2}, {1, 24},
      {2, 1, 12}, {3, 2, 4}, {2, 2, 2, 3}, {4, 2, 3},    {24, 1, 1}};
  unsigned views = 0;
  for (const Sizes &from : {Sizes{2, 3, 4}, Sizes{4, 1, 6}, Sizes{1, 4, 6}})
    for (const auto &permutation : permutations)
      for (const Sizes &to : targets) {
        StridedLayout layout =
            StridedLayout::contiguous(from).transposed(permutation);
        std::optional<StridedLayout> view = layout.reshaped(to);
        if (!view)
          continue;
        ++views;
        EXPECT_EQ(view->dims, to);
        EXPECT_EQ(places(*view), places(layout));
      }
  EXPECT_GT(views, 80u);
}

TEST(StridedLayout, ReshapesSymbolicSizes) {
  DimExpr b = DimExpr::symbol("b"), s = DimExpr::symbol("s");
  // Heads are cut out of a hidden size behind a transpose.
  StridedLayout heads =
      *StridedLayout::contiguous({b, s, 96}).reshaped({b, s, 6, 16});
  EXPECT_EQ(heads.transposed({0, 2, 1, 3}).reshaped({b, 6, s, 4, 4})->strides,
            (Sizes{s * 96, 16, 96, 4, 1}));
  // Putting them together again is not a view.
  EXPECT_FALSE(heads.transposed({0, 2, 1, 3}).reshaped({b, 6 * s, 16}));
  EXPECT_TRUE(heads.reshaped({b * s, 96}));
}

TEST(StridedLayout, LocalOffsetCountsWhatTheRankOwnsBefore) {
  using dist::Mesh;
  const dist::DimSharding dims[] = {
      dim({{{6, {axis(4)}}, {2}}, {{5}}, {{8, {axis(4)}}}}),
      dim({{{4, {axis(2)}}, {3, {axis(2, 2)}}}, {{7}}}),
      dim({{{9}}}),
  };
  Mesh mesh{{{"tp", 4}}};
  unsigned offsets = 0;
  for (const dist::DimSharding &sharding : dims)
    for (int64_t start = 0; start <= *sharding.size().asConstant(); ++start) {
      auto offset = lower::localOffset(sharding, start, mesh);
      if (!offset)
        continue;
      for (int64_t rank = 0; rank < 4; ++rank) {
        ++offsets;
        EXPECT_EQ(onRank(*offset, mesh, rank),
                  llvm::count_if(owned(sharding, mesh, rank),
                                 [&](int64_t e) { return e < start; }))
            << text(sharding) << " at " << start << ", rank " << rank;
      }
    }
  EXPECT_GT(offsets, 80u);
  // A cut through a split segment is none.
  EXPECT_FALSE(lower::localOffset(dims[0], 5, mesh));
}

} // namespace
