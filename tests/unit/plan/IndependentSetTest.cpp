//===- IndependentSetTest.cpp - Beside all sets there are -----------------===//

#include "passes/plan/IndependentSet.h"

#include <gtest/gtest.h>

#include <random>

using namespace shardc;
using plan::IndependentSet;
using plan::Rivals;

namespace {

Rivals make(std::vector<double> weights,
            const std::vector<std::pair<unsigned, unsigned>> &pairs) {
  Rivals made{std::move(weights), {}};
  made.rivals.resize(made.weights.size());
  for (auto [a, b] : pairs) {
    made.rivals[a].push_back(b);
    made.rivals[b].push_back(a);
  }
  return made;
}

double heaviestByTrying(const Rivals &rivals) {
  const size_t n = rivals.weights.size();
  double best = 0;
  for (unsigned set = 0; set < 1u << n; ++set) {
    double weight = 0;
    bool fits = true;
    for (unsigned v = 0; v < n && fits; ++v) {
      if (!(set >> v & 1))
        continue;
      weight += rivals.weights[v];
      for (unsigned u : rivals.rivals[v])
        fits &= !(set >> u & 1);
    }
    if (fits)
      best = std::max(best, weight);
  }
  return best;
}

void expectIndependent(const Rivals &rivals, const IndependentSet &found) {
  double weight = 0;
  for (unsigned v = 0; v < rivals.weights.size(); ++v) {
    if (!found.isChosen[v])
      continue;
    weight += rivals.weights[v];
    for (unsigned u : rivals.rivals[v])
      EXPECT_FALSE(found.isChosen[u]) << v << " and " << u;
  }
  EXPECT_NEAR(weight, found.weight, 1e-9 * (1 + weight));
  EXPECT_LE(found.weight, found.bound * (1 + 1e-9));
}

TEST(IndependentSet, TwoLighterOnesOutweighTheHeaviest) {
  const Rivals rivals = make({2, 1.9, 1.5}, {{0, 1}, {0, 2}});
  const IndependentSet found = plan::heaviestSet(rivals);
  EXPECT_EQ(found.isChosen, (std::vector<bool>{false, true, true}));
  EXPECT_DOUBLE_EQ(found.weight, 3.4);
  EXPECT_DOUBLE_EQ(found.bound, 3.4);
}

TEST(IndependentSet, OfEqualOnesThoseByWeightStay) {
  // By weight: 0 first. As heavy: 1 and 2.
  const Rivals rivals = make({2, 1, 1}, {{0, 1}, {0, 2}});
  EXPECT_EQ(plan::heaviestSet(rivals).isChosen,
            (std::vector<bool>{true, false, false}));
}

TEST(IndependentSet, IsTheHeaviestOfAll) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 3000; ++trial) {
    const unsigned n = random() % 13;
    std::vector<double> weights;
    std::vector<std::pair<unsigned, unsigned>> pairs;
    for (unsigned v = 0; v < n; ++v)
      weights.push_back(1 + random() % 9);
    const unsigned share = 1 + random() % 9;
    for (unsigned a = 0; a < n; ++a)
      for (unsigned b = a + 1; b < n; ++b)
        if (random() % 10 < share)
          pairs.emplace_back(a, b);
    const Rivals rivals = make(weights, pairs);
    const IndependentSet found = plan::heaviestSet(rivals);
    expectIndependent(rivals, found);
    ASSERT_DOUBLE_EQ(found.weight, heaviestByTrying(rivals)) << trial;
    ASSERT_DOUBLE_EQ(found.bound, found.weight) << trial;
  }
}

TEST(IndependentSet, OfSmallTablesTheGapIsStated) {
  std::mt19937 random(2);
  for (int trial = 0; trial < 300; ++trial) {
    const unsigned n = 4 + random() % 8;
    std::vector<double> weights;
    std::vector<std::pair<unsigned, unsigned>> pairs;
    for (unsigned v = 0; v < n; ++v)
      weights.push_back(1 + random() % 9);
    for (unsigned a = 0; a < n; ++a)
      for (unsigned b = a + 1; b < n; ++b)
        if (random() % 10 < 5)
          pairs.emplace_back(a, b);
    const Rivals rivals = make(weights, pairs);
    const IndependentSet found = plan::heaviestSet(rivals, 1 + random() % 3);
    expectIndependent(rivals, found);
    ASSERT_GE(found.bound * (1 + 1e-12), heaviestByTrying(rivals)) << trial;
  }
}

TEST(IndependentSet, LongChainsAndLayersTakeNoTime) {
  // Layers of a triangle each, all of which one choice excludes.
  std::vector<double> weights{50000};
  std::vector<std::pair<unsigned, unsigned>> pairs;
  for (unsigned layer = 0; layer < 20000; ++layer) {
    const unsigned a = weights.size();
    weights.insert(weights.end(), {3, 2, 2});
    pairs.insert(pairs.end(), {{a, a + 1}, {a + 1, a + 2}, {a, a + 2}});
    for (unsigned v : {a, a + 1, a + 2})
      pairs.emplace_back(0, v);
    if (layer > 0)
      pairs.emplace_back(a, a - 1);
  }
  const Rivals rivals = make(weights, pairs);
  const IndependentSet found = plan::heaviestSet(rivals);
  expectIndependent(rivals, found);
  EXPECT_GE(found.weight, 50000);
  EXPECT_DOUBLE_EQ(found.weight, found.bound) << "the heaviest";
}

} // namespace
