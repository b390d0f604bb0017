//===- OverlapCostTest.cpp - Whether communication beside products pays ---===//

#include "passes/plan/OverlapCost.h"

#include <gtest/gtest.h>

using namespace shardc::plan;

namespace {

/// Times are row counts.
Device simple() {
  Device device;
  device.tileRows = 1;
  return device;
}

struct Case {
  double productStart = 0, perRow = 1, collectiveStart = 0, sentPerRow = 1;

  template <typename Use>
  auto with(int64_t rows, bool isProductFirst, Use use) const {
    auto product = [this](int64_t r) {
      return productStart + perRow * static_cast<double>(r);
    };
    auto collective = [this](int64_t r) {
      return collectiveStart + sentPerRow * static_cast<double>(r);
    };
    return use(OverlapCase{rows, 1, isProductFirst, product, collective});
  }
  double seconds(int64_t rows, int64_t parts, bool isProductFirst = true,
                 double speedBeside = 1) const {
    Device device = simple();
    device.speedBeside = speedBeside;
    return with(rows, isProductFirst, [&](const OverlapCase &what) {
      return overlappedSeconds(device, what, parts, 1);
    });
  }
  OverlapChoice choose(int64_t rows, Device device = simple()) const {
    return with(rows, true, [&](const OverlapCase &what) {
      return chooseParts(device, what);
    });
  }
};

TEST(OverlapCost, partsOverlapLikeAPipeline) {
  const Case even;
  EXPECT_DOUBLE_EQ(even.seconds(12, 1), 24);
  EXPECT_DOUBLE_EQ(even.seconds(12, 2), 6 + 6 + 6);
  EXPECT_DOUBLE_EQ(even.seconds(12, 4), 3 * 5);
  EXPECT_DOUBLE_EQ(even.seconds(12, 4, /*isProductFirst=*/false), 3 * 5);
  // The slower of the two is all that counts, but for one part of the other.
  const Case slow{.sentPerRow = 3};
  EXPECT_DOUBLE_EQ(slow.seconds(12, 4), 3 + 36);
}

TEST(OverlapCost, startsAreCounted) {
  const Case starts{.productStart = 1, .collectiveStart = 2};
  EXPECT_DOUBLE_EQ(starts.seconds(12, 1), 13 + 14);
  EXPECT_DOUBLE_EQ(starts.seconds(12, 2), 7 + 8 + 8);
}

TEST(OverlapCost, productsAreSlowerBesideCollectives) {
  const Case even;
  // The first product runs alone, or the last one.
  EXPECT_DOUBLE_EQ(even.seconds(12, 2, true, 0.5), 6 + 12 + 6);
  EXPECT_DOUBLE_EQ(even.seconds(12, 2, false, 0.5), 6 + 12 + 6);
}

TEST(OverlapCost, partsHaveEqualRowsButForTheLast) {
  auto rowsOf = [](int64_t rows, int64_t unit, int64_t parts, int64_t least) {
    OverlapCase what{};
    what.rows = rows;
    what.unitRows = unit;
    return rowsOfPart(what, parts, least);
  };
  EXPECT_EQ(rowsOf(12, 1, 4, 1), 3);
  EXPECT_EQ(rowsOf(13, 1, 4, 1), 4);
  EXPECT_EQ(rowsOf(13, 1, 4, 8), 8);
  EXPECT_EQ(rowsOf(12, 6, 4, 1), 6); // two units are two parts
  EXPECT_EQ(rowsOf(12, 2, 4, 3), 4);
  const Case even;
  EXPECT_DOUBLE_EQ(even.seconds(13, 4), 4 * 4 + 1); // 4, 4, 4 and 1 rows
}

TEST(OverlapCost, splitsWhatGainsAndNothingElse) {
  const Case even;
  const OverlapChoice choice = even.choose(1000);
  EXPECT_EQ(choice.parts, 8);
  EXPECT_DOUBLE_EQ(choice.before, 2000);
  EXPECT_DOUBLE_EQ(choice.after, 125 * 9);
  // Starts outweigh what is gained.
  const Case slowStart{.collectiveStart = 2000};
  EXPECT_EQ(slowStart.choose(1000).parts, 1);
  // Almost nothing to hide.
  const Case quick{.sentPerRow = 0.01};
  EXPECT_EQ(quick.choose(1000).parts, 1);
}

/// Where two parts of that many rows gain, half as many gain nothing.
TEST(OverlapCost, fewRowsAreNotSplitLater) {
  const Case starts{.collectiveStart = 50};
  const OverlapChoice choice = starts.choose(1000);
  EXPECT_GT(choice.parts, 1);
  EXPECT_EQ(choice.leastRows, 128);
  EXPECT_GT(starts.seconds(128, 2), 0.95 * starts.seconds(128, 1));
  EXPECT_LT(starts.seconds(256, 2), 0.95 * starts.seconds(256, 1));
}

} // namespace
