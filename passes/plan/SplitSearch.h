//===- SplitSearch.h - Splits of weights that a predicted time decides ----===//
//
// Where sizes and machine are known, what the search without sizes finds
// (PlanSearch.h) is a start. Each factor of a weight may be whole, or split over
// all axes or over a part of them: the first or the last ways of each. Two factors
// of one matrix may then have a part of the axes each, rows and columns, which
// sends less where ranks are many:
//
//   tp = 16, hidden over "tp":(1)4 and inner over "tp":(4)4: each rank has a
//   sixteenth of a matrix, and sums go to 4 ranks instead of 16
//
// Of few factors all choices together are tried. Of more, those that are alike (one
// in each layer) get the same, and one after the other, or two of one matrix, is
// changed for the better, until none is. No choice may leave a rank more bytes
// of weights or of caches than the start does, or make the other requests slower that have the
// same weights; so no plan is slower or larger than it.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_PLAN_SPLITSEARCH_H
#define SHARDC_PASSES_PLAN_SPLITSEARCH_H

#include "passes/plan/Plan.h"

namespace shardc::plan {

/// Factors that are alike, one in each layer say, and what splits them wherever
/// they are: nothing leaves them whole.
struct LeafChoice {
  llvm::SmallVector<FactorNode, 4> leaves;
  AxisList axes;
};

/// Puts choices into a plan, the first ones first: an op that already has some of
/// the axes does not get them again.
void applyChoices(const Graph &graph, llvm::ArrayRef<LeafChoice> choices,
                  Plan &plan);

/// Of the fullest and busiest rank.
struct PlanPrice {
  double seconds = 0, weightBytes = 0;
  double communication = 0; ///< of the seconds
  double cacheBytes = 0;
};

struct SplitProblem {
  const Graph &graph;
  AxisList axes; ///< to split weights over, major first
  /// What a plan takes whose search starts from these; from none first.
  llvm::function_ref<PlanPrice(llvm::ArrayRef<LeafChoice>)> price;
  /// Seconds of requests that are no reason to choose anything: of prompts, beside
  /// steps.
  llvm::function_ref<double(llvm::ArrayRef<LeafChoice>)> others;
  /// Seconds that any plan takes, of choices that leave all factors whole.
  llvm::function_ref<double(llvm::ArrayRef<LeafChoice>)> least;
};

struct SplitSolution {
  std::vector<LeafChoice> choices; ///< none: the start is the best
  PlanPrice before, after;
  unsigned numTried = 0; ///< plans
  bool isExact = false;  ///< all choices were tried
  /// No choices take less: those of the solution, if all were tried, or else what
  /// any plan does (LeastWork.h).
  double leastSeconds = 0;
};

/// The factors of matrices, each with all that may split it; if asked for, those
/// that are alike together: of one size, at ops that are alike one by one.
std::vector<std::vector<LeafChoice>>
findChoices(const Graph &graph, llvm::ArrayRef<dist::AxisRef> axes,
            bool areTogether);

/// Tries so many plans at most.
SplitSolution searchSplits(const SplitProblem &problem, unsigned budget);

} // namespace shardc::plan

#endif // SHARDC_PASSES_PLAN_SPLITSEARCH_H
