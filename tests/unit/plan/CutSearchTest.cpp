//===- CutSearchTest.cpp - Cuts against all that there are ----------------===//

#include "passes/plan/CutSearch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>

using namespace shardc;
using plan::Piece;

namespace {

using Cuts = std::vector<size_t>;

TEST(CutSearch, SharesWorkOut) {
  std::vector<Piece> pieces = {{1, 1, 1}, {4, 4, 1}, {4, 4, 1}, {1, 1, 0}};
  EXPECT_EQ(plan::searchCuts(pieces, 2), (Cuts{0, 2}));
  EXPECT_EQ(plan::searchCuts(pieces, 1), (Cuts{0}));
  EXPECT_EQ(plan::searchCuts(pieces, 4), (Cuts{0, 1, 2, 3}));
}

TEST(CutSearch, CutsWhereLittleCrosses) {
  // Alike but for what crosses behind each piece.
  std::vector<Piece> pieces = {
      {1, 10, 9}, {1, 10, 9}, {1, 10, 1}, {1, 10, 9}, {1, 10, 0}};
  EXPECT_EQ(plan::searchCuts(pieces, 2), (Cuts{0, 3}));
}

TEST(CutSearch, HeadsCountAsLayersDo) {
  // A large head takes a stage of its own.
  std::vector<Piece> pieces = {{1, 1, 0}, {1, 1, 0}, {1, 1, 0}, {8, 8, 0}};
  EXPECT_EQ(plan::searchCuts(pieces, 2), (Cuts{0, 3}));
}

/// The slowest stage's share of work and weights, nothing crossing.
double slowest(const std::vector<Piece> &pieces, const Cuts &begins) {
  double work = 0, weights = 0, result = 0;
  for (const Piece &piece : pieces) {
    work += piece.work;
    weights += piece.weightBytes;
  }
  for (size_t s = 0; s < begins.size(); ++s) {
    double cost = 0;
    size_t end = s + 1 < begins.size() ? begins[s + 1] : pieces.size();
    for (size_t p = begins[s]; p < end; ++p)
      cost += pieces[p].work / work + pieces[p].weightBytes / weights;
    result = std::max(result, cost);
  }
  return result;
}

TEST(CutSearch, NoCutIsBetter) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<Piece> pieces(7);
    for (Piece &piece : pieces)
      piece = {double(1 + random() % 9), double(1 + random() % 9), 0};
    for (size_t stages = 1; stages <= pieces.size(); ++stages) {
      double best = 1e9;
      std::function<void(Cuts)> extend = [&](Cuts cuts) {
        if (cuts.size() == stages)
          return void(best = std::min(best, slowest(pieces, cuts)));
        for (size_t next = cuts.back() + 1; next < pieces.size(); ++next) {
          Cuts longer = cuts;
          longer.push_back(next);
          extend(longer);
        }
      };
      extend({0});
      EXPECT_DOUBLE_EQ(slowest(pieces, plan::searchCuts(pieces, stages)), best);
    }
  }
}

TEST(CutSearch, CutsUnrolledExpertsEvenly) {
  // 64 layers of 256 experts of three products, with nothing to tell the places
  // apart (what crosses costs the first and the last stage half as much).
  std::vector<Piece> pieces(64 * 256 * 3, Piece{1, 1, 0});
  const Cuts begins = plan::searchCuts(pieces, 16);
  ASSERT_EQ(begins.size(), 16u);
  Cuts even;
  for (size_t s = 0; s < 16; ++s)
    even.push_back(s * pieces.size() / 16);
  EXPECT_LE(slowest(pieces, begins), 1.01 * slowest(pieces, even));
}

TEST(CutSearch, ThousandsOfPiecesAreCutWhereLittleCrosses) {
  std::vector<Piece> pieces(20000, Piece{1, 1, 9});
  for (size_t p = 99; p < pieces.size(); p += 100)
    pieces[p].crossingBytes = 1;
  for (size_t begin : plan::searchCuts(pieces, 8))
    EXPECT_EQ(begin % 100, 0u);
}

TEST(CutSearch, EachStageHasAPieceWhereOneHasAllTheWork) {
  std::vector<Piece> pieces(10000, Piece{0, 0, 1});
  pieces[5000].work = 1;
  const Cuts begins = plan::searchCuts(pieces, 400);
  ASSERT_EQ(begins.size(), 400u);
  for (size_t s = 1; s < begins.size(); ++s)
    EXPECT_LT(begins[s - 1], begins[s]);
}

/// The slowest stage's seconds, and how full the fullest one is.
std::pair<double, double> slowestAndFullest(const std::vector<Piece> &pieces,
                                            const Cuts &begins,
                                            const plan::StageDevices &devices) {
  std::pair<double, double> most{0, 0};
  for (size_t s = 0; s < begins.size(); ++s) {
    const size_t end = s + 1 < begins.size() ? begins[s + 1] : pieces.size();
    double seconds = 0, weights = 0;
    for (size_t p = begins[s]; p < end; ++p) {
      seconds += pieces[p].seconds[devices.kindOf[s]];
      weights += pieces[p].weightBytes;
    }
    most.first = std::max(most.first, seconds);
    most.second = std::max(most.second, weights / devices.memoryBytes[s]);
  }
  return most;
}

/// Of all cuts in which no stage is fuller than without times.
TEST(CutSearch, NoCutIsFasterOnUnequalDevices) {
  std::mt19937 random(7);
  bool isBetter = false;
  for (int round = 0; round < 50; ++round) {
    std::vector<Piece> pieces(7);
    for (Piece &piece : pieces) {
      piece = {double(1 + random() % 9), double(1 + random() % 9), 0, {}};
      piece.seconds = {double(1 + random() % 9), double(1 + random() % 9)};
    }
    for (size_t stages = 2; stages <= 5; ++stages) {
      plan::StageDevices devices;
      devices.kinds.resize(2);
      for (size_t s = 0; s < stages; ++s) {
        devices.kindOf.push_back(random() % 2);
        devices.memoryBytes.push_back(1 + random() % 3);
      }
      const auto [before, fullest] =
          slowestAndFullest(pieces, plan::searchCuts(pieces, stages), devices);
      double best = before;
      std::function<void(Cuts)> extend = [&](Cuts cuts) {
        if (cuts.size() == stages) {
          const auto [seconds, filled] =
              slowestAndFullest(pieces, cuts, devices);
          if (filled <= fullest)
            best = std::min(best, seconds);
          return;
        }
        for (size_t next = cuts.back() + 1; next < pieces.size(); ++next) {
          Cuts longer = cuts;
          longer.push_back(next);
          extend(longer);
        }
      };
      extend({0});
      const auto found =
          slowestAndFullest(pieces, plan::searchCuts(pieces, devices), devices);
      EXPECT_DOUBLE_EQ(found.first, best);
      EXPECT_LE(found.second, fullest * (1 + 1e-9));
      isBetter |= found.first < before;
    }
  }
  EXPECT_TRUE(isBetter);
}

plan::Device deviceNamed(const char *name, double memoryBytes) {
  plan::Device device;
  device.name = name;
  device.memoryBytes = memoryBytes;
  return device;
}

TEST(StageDevices, StagesHaveThoseOfTheirNodes) {
  plan::Machine machine;
  machine.nodes = 3;
  machine.devicesPerNode = 2;
  machine.devices = {deviceNamed("large", 80), deviceNamed("small", 48),
                     deviceNamed("large", 80)};
  dist::Mesh mesh;
  mesh.axes.assign({{"pp", 3}, {"tp", 2}});
  const plan::StageDevices byNode = plan::stageDevices(machine, mesh);
  EXPECT_EQ(byNode.kinds.size(), 2u);
  EXPECT_EQ(byNode.kindOf, (std::vector<size_t>{0, 1, 0}));
  EXPECT_EQ(byNode.memoryBytes, (std::vector<double>{80, 48, 80}));
  EXPECT_EQ(byNode.kinds[1].devices.size(), 1u);
  // Stages over several nodes wait for the slower device, and all are alike.
  mesh.axes.assign({{"tp", 2}, {"pp", 3}});
  const plan::StageDevices across = plan::stageDevices(machine, mesh);
  EXPECT_EQ(across.kindOf.size(), 3u);
  EXPECT_EQ(across.kinds[across.kindOf[0]].devices.size(), 2u);
  mesh.axes.assign({{"tp", 6}});
  EXPECT_EQ(plan::stageDevices(machine, mesh).kindOf, (std::vector<size_t>{0}));
}

} // namespace
