//===- Ranking.h - The best degrees for a model and a machine -------------===//
//
// All degrees that the machine has devices for are predicted (Predictor.h), each
// in its best variant: with and without sequence parallelism, every mode of
// attention and of experts, as many micro-batches as pay. Those that do not fit
// come last. What may be among the best with another order of ranks (RankOrder.h)
// has the one that is better by more than a prediction can tell: no order saves
// more than all communication, so that most degrees are out of the question.
//
//   Latency      the shortest step, or prompt where the model has no caches
//   Throughput   the most tokens a second for each device
//   Fit          the fewest devices
//
// Of those that are equal within what a prediction can tell, the one with fewer
// devices is better, and then the simpler one.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_PLAN_DEGREES_RANKING_H
#define SHARDC_PASSES_PLAN_DEGREES_RANKING_H

#include "passes/plan/degrees/DegreeSpace.h"
#include "passes/plan/degrees/Predictor.h"

namespace shardc::plan {

enum class Goal : uint8_t { Latency, Throughput, Fit };
std::optional<Goal> symbolizeGoal(llvm::StringRef text);

struct Candidate {
  Degrees degrees;
  Prediction prediction;
  /// Splits of weights and cuts of stages, where those for the sizes of these
  /// requests pay.
  std::optional<Predictor::SizedChoice> forSizes = std::nullopt;
  std::string reason =
      {}; ///< why it is the best, or why it lost against that one
};

/// For all kinds of requests together (MixPredictor.h). Best first; empty where
/// nothing can be run at all.
std::vector<Candidate> rankDegrees(llvm::ArrayRef<Workload> kinds,
                                   const Machine &machine, Goal goal,
                                   const FixedDegrees &fixed = {});

} // namespace shardc::plan

#endif // SHARDC_PASSES_PLAN_DEGREES_RANKING_H
