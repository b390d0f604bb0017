//===- PlannedCuts.h - Where a plan cuts stages ---------------------------===//
//
// By function the products with a matrix that stages begin with, but for the
// first one, each by its node (plan/PlanFile.h); of several that a node has become
// "index" says which:
//
//   {"main": [{"node": "/layers.4/q", "op": "MatMul"},
//             {"node": "/layers.8/q", "op": "MatMul"}]}     3 stages
//
// What stands between two products is in the stage where the fewest bytes cross
// (StageGraph.h).
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_STAGE_PLANNEDCUTS_H
#define SHARDC_PASSES_STAGE_PLANNEDCUTS_H

#include "passes/stage/StageGraph.h"

#include <nlohmann/json.hpp>

namespace shardc::stage {

/// Of the pieces that stages begin with.
nlohmann::json writeCuts(const StageGraph &graph, llvm::ArrayRef<size_t> cuts);

/// The piece that each of `numStages` stages begins with, as searchCuts has them.
/// "" or what is wrong, with the node that is meant and the nearest that fits.
std::string readCuts(const nlohmann::json &planned, const StageGraph &graph,
                     size_t numStages, std::vector<size_t> &cuts);

} // namespace shardc::stage

#endif // SHARDC_PASSES_STAGE_PLANNEDCUTS_H
