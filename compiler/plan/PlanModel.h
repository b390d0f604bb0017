//===- PlanModel.h - Which degrees suit a model and a machine -------------===//
//
// What `shardc plan` and `shardc --auto` do, without their flags: the model is
// imported, the degrees that the machine allows are predicted, and the best ones
// come first (passes/plan/degrees/Ranking.h). Nothing is compiled.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_COMPILER_PLAN_PLANMODEL_H
#define SHARDC_COMPILER_PLAN_PLANMODEL_H

#include "compiler/Compile.h"
#include "compiler/RequestSizes.h"
#include "passes/plan/degrees/Ranking.h"

#include <map>

namespace shardc {

struct PlanRequest {
  std::string model, topology;
  /// At least one. Sizes as --dims or --mix gives them; what is missing is a
  /// batch of 1, 1024 positions, and as many before a step.
  std::vector<RequestKind> kinds;
  const char *kindsFlag = "--dims"; ///< that they were said by
  plan::Goal goal = plan::Goal::Throughput;
  plan::FixedDegrees fixed;
  /// Positions of a page and type of keys, of steps of rows; 0 for requests.
  int64_t page = 0;
  std::string kvType = {};
  std::string weightsType = {}; ///< see PipelineOptions
  int64_t weightsGroup = 32;
  bool bitwise = false; ///< see PipelineOptions
  bool overlaps = true; ///< collectives beside products, as --overlap has it
  /// Steps of training are predicted in place of requests.
  std::optional<plan::TrainingOptions> training = std::nullopt;
  /// For a report: the plan that it is of; without, it is of the best one.
  std::optional<plan::Degrees> chosen = std::nullopt;
  bool wantsLayer = false;
};

struct PlanAnswer {
  /// By kind of request: "batch", "seq", "past", others.
  std::vector<std::map<std::string, int64_t>> dims;
  size_t typicalKind = 0;                  ///< that choices for sizes are for
  std::vector<plan::Candidate> candidates; ///< best first
  std::string remedy;                      ///< what would fit, where none does
  std::optional<plan::Candidate> chosen;
  /// With wantsLayer: JSON of a typical layer under the chosen plan
  /// (LayerGraph.h).
  std::string layer;
  plan::Machine machine;
  double seconds = 0; ///< that it took
};

/// Done, or what went wrong was said to `errors`.
ExitCode planModel(const PlanRequest &request, PlanAnswer &answer,
                   llvm::raw_ostream &errors);

} // namespace shardc

#endif // SHARDC_COMPILER_PLAN_PLANMODEL_H
