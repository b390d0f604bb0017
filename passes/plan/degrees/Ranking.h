//===- Ranking.h - The best degrees for a model and a machine -------------===//
//
// All degrees that the machine has devices for are predicted (Predictor.h), each
// in its best variant: with and without sequence parallelism, every mode of
// attention and of experts, as many micro-batches as pay. Those that do not fit
// come last.
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

#include "passes/plan/degrees/MixPredictor.h"

namespace shardc::plan {

enum class Goal : uint8_t { Latency, Throughput, Fit };
std::optional<Goal> symbolizeGoal(llvm::StringRef text);

struct Candidate {
  Degrees degrees;
  Prediction prediction;
  std::string reason; ///< why it is the best, or why it lost against that one
};

/// What is not to be chosen.
struct FixedDegrees {
  /// Ways by axis; and of modes, where their axes have several ways, "sp", 0 or
  /// 1, "cp-mode", a ContextMode, and "micro-batches".
  std::map<std::string, int64_t> numbers = {};
  /// Of axes that have as many ways; others have equal parts.
  std::map<std::string, llvm::SmallVector<int64_t, 2>> shares = {};
  /// Shares that suit the devices (DeviceShares.h), of all axes.
  bool hasDeviceShares = false;
};

/// For all kinds of requests together (MixPredictor.h). Best first; empty where
/// nothing can be run at all.
std::vector<Candidate> rankDegrees(llvm::ArrayRef<Workload> kinds,
                                   const Machine &machine, Goal goal,
                                   const FixedDegrees &fixed = {});

} // namespace shardc::plan

#endif // SHARDC_PASSES_PLAN_DEGREES_RANKING_H
