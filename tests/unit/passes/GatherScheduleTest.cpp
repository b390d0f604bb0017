//===- GatherScheduleTest.cpp - When shared weights are gathered ----------===//

#include "passes/lower/overlap/GatherSchedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

using namespace shardc::lower;

namespace {

using Weights = std::vector<GatheredWeight>;

/// Each layer's weights are used one after the other, an instruction each.
Weights layersOf(size_t count, std::vector<int64_t> bytes) {
  Weights weights;
  for (size_t layer = 0; layer < count; ++layer)
    for (int64_t size : bytes) {
      const size_t at = weights.size();
      weights.push_back({at, at, 0, size, int64_t(layer)});
    }
  return weights;
}

/// The most bytes that are there at once.
int64_t peakOf(const Weights &weights) {
  const std::vector<size_t> starts = scheduleGathers(weights);
  int64_t peak = 0;
  for (const GatheredWeight &at : weights)
    for (size_t position : {at.firstUse, at.lastUse}) {
      int64_t live = 0;
      for (size_t i = 0; i < weights.size(); ++i)
        if (starts[i] <= position && position <= weights[i].lastUse)
          live += weights[i].bytes;
      peak = std::max(peak, live);
    }
  return peak;
}

TEST(GatherSchedule, eachStartsALayerAhead) {
  const Weights weights = layersOf(3, {4, 4, 4});
  EXPECT_EQ(largestLayer(weights), 12);
  EXPECT_EQ(scheduleGathers(weights),
            (std::vector<size_t>{0, 0, 0, 0, 1, 2, 3, 4, 5}));
}

TEST(GatherSchedule, twoLayersAreTheMost) {
  const std::vector<int64_t> bytes{3, 1, 1, 3, 8, 8, 8};
  for (size_t layers : {2, 4, 8, 40}) {
    const int64_t peak = peakOf(layersOf(layers, bytes));
    EXPECT_GT(peak, 32) << layers;
    EXPECT_LE(peak, 64) << layers;
    EXPECT_EQ(peak, peakOf(layersOf(2, bytes))) << layers;
  }
}

/// A head behind layers of 8 bytes.
Weights withHead(int64_t bytes) {
  Weights weights = layersOf(4, {4, 4});
  weights.push_back({8, 8, 0, bytes, std::nullopt});
  return weights;
}

TEST(GatherSchedule, whatStandsByItselfStartsALayerAhead) {
  EXPECT_EQ(largestLayer(withHead(8)), 8);
  EXPECT_EQ(scheduleGathers(withHead(8)).back(), 6u);
  EXPECT_EQ(peakOf(withHead(8)), 16);
}

TEST(GatherSchedule, whatIsLargerThanALayerStartsLater) {
  EXPECT_EQ(scheduleGathers(withHead(12)).back(), 7u) << "behind half a layer";
  EXPECT_EQ(peakOf(withHead(12)), 16);
  EXPECT_EQ(scheduleGathers(withHead(13)).back(), 8u);
  EXPECT_EQ(peakOf(withHead(13)), 13);
  EXPECT_EQ(scheduleGathers(withHead(100)).back(), 8u);
  EXPECT_EQ(peakOf(withHead(100)), 100) << "as much as it needs by itself";
}

/// What follows a table that is found in whole waits until it has gone.
TEST(GatherSchedule, nothingStartsBesideWhatIsLargerThanALayer) {
  Weights weights{{0, 0, 0, 100, std::nullopt}};
  for (GatheredWeight weight : layersOf(2, {4, 4})) {
    weight.lastUse = ++weight.firstUse;
    weights.push_back(weight);
  }
  EXPECT_EQ(scheduleGathers(weights), (std::vector<size_t>{0, 1, 1, 1, 2}));
  EXPECT_EQ(peakOf(weights), 100);
}

TEST(GatherSchedule, withoutLayersOneWeightIsAhead) {
  Weights weights;
  for (size_t i = 0; i < 4; ++i)
    weights.push_back({i, i, 0, 5, std::nullopt});
  EXPECT_EQ(scheduleGathers(weights), (std::vector<size_t>{0, 0, 1, 2}));
}

TEST(GatherSchedule, nothingPassesABarrier) {
  Weights weights = layersOf(2, {4, 4});
  weights[2].earliest = 2;
  weights[3].earliest = 2;
  EXPECT_EQ(scheduleGathers(weights), (std::vector<size_t>{0, 0, 2, 2}));
}

/// What is used for long leaves less room, or none, for what comes next.
TEST(GatherSchedule, whatIsUsedForLongCounts) {
  Weights weights = layersOf(2, {4, 4});
  weights[0].lastUse = 3;
  EXPECT_EQ(scheduleGathers(weights), (std::vector<size_t>{0, 0, 0, 2}));
  weights[1].lastUse = 3;
  EXPECT_EQ(scheduleGathers(weights), (std::vector<size_t>{0, 0, 0, 3}));
}

TEST(GatherSchedule, anyWeightsStayWithinTwoLayersOrTheLargest) {
  std::mt19937 random(3);
  for (int trial = 0; trial < 300; ++trial) {
    Weights weights;
    int64_t largest = 0;
    for (size_t i = 0, count = 1 + random() % 30; i < count; ++i) {
      const int64_t bytes = 1 + int64_t(random() % 20);
      largest = std::max(largest, bytes);
      weights.push_back({i, i, 0, bytes, int64_t(i / 4)});
    }
    int64_t most = largestLayer(weights) + largest;
    if (trial % 2) {
      const int64_t head = 1 + int64_t(random() % 200);
      weights.push_back({weights.size(), weights.size(), 0, head, {}});
      most = std::max(2 * largestLayer(weights), head);
    }
    EXPECT_LE(peakOf(weights), most) << trial;
    const std::vector<size_t> starts = scheduleGathers(weights);
    for (size_t i = 0; i < weights.size(); ++i)
      EXPECT_LE(starts[i], weights[i].firstUse) << trial;
    EXPECT_TRUE(std::is_sorted(starts.begin(), starts.end())) << trial;
  }
}

} // namespace
