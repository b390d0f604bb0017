//===- StepPlanTest.cpp - Which rows the next step has --------------------===//
#include "runtime/serve/StepPlan.h"
#include "runtime/serve/StepPace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

namespace shardc::runtime {
namespace {

/// "0:1 2:7" of rows, " admitted 1", " evicted 1".
std::string text(const StepPlan &plan) {
  std::string all;
  for (const StepPlan::Row &row : plan.rows)
    all += (all.empty() ? "" : " ") + std::to_string(row.sequence) + ":" +
           std::to_string(row.count);
  if (plan.admitted > 0)
    all += " admitted " + std::to_string(plan.admitted);
  for (size_t sequence : plan.evicted)
    all += " evicted " + std::to_string(sequence);
  return all;
}

std::string plan(std::vector<SequenceLoad> running,
                 std::vector<SequenceLoad> waiting, StepLimits limits) {
  return text(planStep(running, waiting, limits));
}

TEST(StepPlan, decodingGoesFirst) {
  EXPECT_EQ(plan({{10, 1, 3}, {0, 20, 0}, {7, 1, 2}}, {}, {8, 16, 100, 4}),
            "0:1 2:1 1:6");
}

TEST(StepPlan, promptsComeInPartsAndInOrder) {
  EXPECT_EQ(plan({{10, 1, 3}}, {{0, 20, 0}, {0, 4, 0}}, {8, 16, 100, 4}),
            "0:1 1:7 admitted 1");
  EXPECT_EQ(plan({{11, 1, 3}, {14, 6, 4}}, {{0, 4, 0}}, {8, 16, 100, 4}),
            "0:1 1:6 2:1 admitted 1");
}

TEST(StepPlan, aStepHasSoManyRows) {
  EXPECT_EQ(
      plan({{4, 1, 1}, {4, 1, 1}, {4, 1, 1}}, {{0, 2, 0}}, {64, 2, 100, 4}),
      "0:1 1:1");
}

TEST(StepPlan, whoHasNoPagesIsNotAdmitted) {
  // 3 pages are free, one of which the first needs now and one for its prompt.
  EXPECT_EQ(plan({{4, 1, 1}}, {{0, 9, 0}}, {64, 16, 3, 4}), "0:1");
  EXPECT_EQ(plan({{4, 1, 1}}, {{0, 8, 0}}, {64, 16, 3, 4}),
            "0:1 1:8 admitted 1");
  EXPECT_EQ(plan({{4, 12, 1}}, {{0, 4, 0}}, {4, 16, 4, 4}), "0:4")
      << "the rest of a prompt comes before another";
  EXPECT_EQ(plan({}, {{0, 100, 0}}, {64, 16, 3, 4}), "0:12 admitted 1")
      << "alone it may try";
}

TEST(StepPlan, pagesThatATextBeginsWithAreThere) {
  // 8 of its 9 pages are another's: it needs one, and one is free.
  EXPECT_EQ(plan({{4, 1, 1}}, {{32, 3, 8}}, {64, 16, 1, 4}), "0:1")
      << "the one that decodes takes it";
  EXPECT_EQ(plan({{4, 1, 2}}, {{32, 3, 8}}, {64, 16, 1, 4}),
            "0:1 1:3 admitted 1");
}

TEST(StepPlan, nobodyOvertakes) {
  EXPECT_EQ(plan({{4, 1, 1}}, {{0, 50, 0}, {0, 1, 0}}, {64, 16, 4, 4}), "0:1");
}

TEST(StepPlan, promptsDoNotHoldUpThoseThatDecode) {
  EXPECT_EQ(plan({{10, 1, 3}, {0, 20, 0}}, {{0, 4, 0}}, {16, 16, 100, 4, 6}),
            "0:1 1:6");
  EXPECT_EQ(plan({{10, 1, 3}, {4, 5, 1}}, {{0, 4, 0}}, {16, 16, 100, 4, 6}),
            "0:1 1:5 2:1 admitted 1");
}

TEST(StepPlan, whoIsInAStepHasNoRowAndKeepsItsPages) {
  SequenceLoad busy{8, 1, 2}, resting{4, 1, 1};
  busy.isBusy = true;
  resting.rests = true;
  // No page is free: only the one that rests gives up its own.
  EXPECT_EQ(plan({{8, 1, 2}, resting, busy}, {}, {16, 16, 0, 4}),
            "0:1 evicted 1");
  EXPECT_EQ(plan({{8, 1, 2}, busy}, {}, {16, 16, 0, 4}), "");
}

TEST(StepPace, findsWhatReadingWeightsIsWorth) {
  StepPace pace;
  EXPECT_EQ(pace.prompts(0, 2), INT64_MAX) << "nobody decodes";
  EXPECT_EQ(pace.prompts(40, 2), 40) << "nothing is known yet";
  EXPECT_EQ(pace.prompts(3, 2), 16) << "never less";
  for (int64_t tokens : {1, 64, 20, 100, 7, 33})
    pace.took(tokens, 0.010 + 0.001 * double(tokens)); // 10 ms and 1 ms each
  EXPECT_NEAR(double(pace.prompts(20, 2)), 30, 1);
  EXPECT_NEAR(double(pace.prompts(20, 3)), 60, 1);
  EXPECT_EQ(pace.prompts(20, 0), INT64_MAX) << "any";
  for (int i = 0; i < 40; ++i)
    pace.took(20, 0.030); // all alike: nothing new is known
  EXPECT_NEAR(double(pace.prompts(20, 2)), 30, 1);
}

TEST(StepPlan, whoCameLastGivesUpItsPages) {
  EXPECT_EQ(
      plan({{4, 1, 1}, {6, 1, 2}, {9, 1, 3}}, {{0, 1, 0}}, {64, 16, 0, 4}),
      "0:1 1:1 evicted 2");
  EXPECT_EQ(
      plan({{4, 1, 1}, {8, 1, 2}, {3, 1, 1}, {8, 3, 2}}, {}, {64, 16, 0, 4}),
      "0:1 1:1 2:1 evicted 3");
  EXPECT_EQ(plan({{4, 1, 1}}, {}, {64, 16, 0, 4}), "") << "there is nobody";
}

TEST(StepPlan, ofOneRowTextsTakeTurns) {
  StepLimits limits{64, 16, 100, 4};
  limits.isOfOneRow = true;
  const std::vector<SequenceLoad> running = {{4, 1, 1}, {9, 1, 3}};
  for (const auto &[first, expected] :
       {std::pair<size_t, const char *>{0, "0:1"},
        {1, "1:1"},
        {2, "2:20 admitted 1"},
        {3, "0:1"}}) {
    limits.first = first;
    EXPECT_EQ(plan(running, {{0, 20, 0}, {0, 3, 0}}, limits), expected);
  }
  // Nobody waits, and the one whose turn it is is in a step.
  SequenceLoad busy{9, 0, 3};
  busy.isBusy = true;
  limits.first = 1;
  EXPECT_EQ(plan({{4, 1, 1}, busy}, {}, limits), "0:1");
  EXPECT_EQ(plan({busy}, {}, limits), "");
}

TEST(StepPlan, ofOneRowAPromptComesWhole) {
  StepLimits limits{8, 16, 5, 4};
  limits.isOfOneRow = true;
  limits.tokens = INT64_MAX;
  limits.first = 1;
  EXPECT_EQ(plan({{4, 1, 1}}, {{0, 17, 0}}, limits), "0:1");
  EXPECT_EQ(plan({{4, 1, 1}}, {{0, 16, 0}}, limits), "1:16 admitted 1");
  EXPECT_EQ(plan({{4, 1, 1}, {0, 21, 0}}, {}, limits), "0:1")
      << "one whose step failed waits for its pages";
}

TEST(StepPlan, aRowHasSoManyTokens) {
  StepLimits limits{64, 16, 100, 4};
  limits.ofRow = 1;
  EXPECT_EQ(plan({{10, 1, 3}, {3, 9, 1}}, {{0, 4, 0}}, limits),
            "0:1 1:1 2:1 admitted 1");
}

TEST(StepPlan, keysOfAnEncoderTakePages) {
  SequenceLoad text{0, 4, 0};
  text.beside = 2;
  EXPECT_EQ(plan({{4, 1, 1}}, {text}, {64, 16, 3, 4}), "0:1")
      << "one page is taken, and of two both are the encoder's";
  EXPECT_EQ(plan({{4, 1, 1}}, {text}, {64, 16, 4, 4}), "0:1 1:4 admitted 1");
  SequenceLoad running{3, 1, 3};
  running.beside = 2;
  EXPECT_EQ(plan({running}, {}, {64, 16, 0, 4}), "0:1") << "it has them";
  running.length = 4;
  EXPECT_EQ(plan({running}, {}, {64, 16, 0, 4}), "");
}

/// Whatever the load: no more than there is, and somebody gets on.
TEST(StepPlan, keepsItsLimits) {
  uint32_t state = 1;
  const auto random = [&](int64_t below) {
    state = state * 1664525u + 1013904223u;
    return static_cast<int64_t>(state >> 16) % below;
  };
  for (int round = 0; round < 5000; ++round) {
    StepLimits limits{1 + random(12), 1 + random(6), random(8), 1 + random(5)};
    std::vector<SequenceLoad> running, waiting;
    for (int64_t i = random(6); i > 0; --i) {
      SequenceLoad load{random(15), 1 + random(2) * random(9)};
      load.pages = (load.length + limits.ofPage - 1) / limits.ofPage;
      running.push_back(load);
    }
    for (int64_t i = random(4); i > 0; --i)
      waiting.push_back({0, 1 + random(12), 0});
    const StepPlan made = planStep(running, waiting, limits);
    int64_t tokens = 0, pages = limits.freePages;
    for (size_t sequence : made.evicted)
      pages += running[sequence].pages;
    std::vector<char> hasRow(running.size() + waiting.size());
    for (const StepPlan::Row &row : made.rows) {
      const SequenceLoad &load = row.sequence < running.size()
                                     ? running[row.sequence]
                                     : waiting[row.sequence - running.size()];
      EXPECT_FALSE(std::exchange(hasRow[row.sequence], 1));
      EXPECT_GE(row.count, 1);
      EXPECT_LE(row.count, load.pending);
      EXPECT_EQ(
          std::count(made.evicted.begin(), made.evicted.end(), row.sequence),
          0);
      tokens += row.count;
      pages -= std::max<int64_t>(
          0, (load.length + row.count + limits.ofPage - 1) / limits.ofPage -
                 load.pages);
    }
    EXPECT_LE(tokens, limits.tokens);
    EXPECT_LE(int64_t(made.rows.size()), limits.rows);
    EXPECT_GE(pages, 0);
    for (size_t i = 0; i < waiting.size(); ++i)
      EXPECT_EQ(bool(hasRow[running.size() + i]), i < made.admitted);
    // The first one always gets on, or there is no page that it could have.
    const int64_t all =
        limits.freePages + (running.empty() ? 0 : running[0].pages);
    if (!running.empty() && made.rows.empty()) {
      EXPECT_LE(all * limits.ofPage, running[0].length);
    }
    if (running.empty() && !waiting.empty() && limits.freePages > 0) {
      EXPECT_FALSE(made.rows.empty());
    }
  }
}

} // namespace
} // namespace shardc::runtime
