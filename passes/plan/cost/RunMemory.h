//===- RunMemory.h - Bytes that the fullest rank holds, op by op ----------===//
//
//   weights   its part of a tensor of the model's files, as it is held there
//   live      what is there while the op runs: values from where they are made
//             to where they are last used, and what is gathered for the op; of
//             weights that ranks share out (StoredWeights.h) two layers, or what
//             is larger by itself
//   kv        caches that the op makes, for the positions that the request ends
//             with
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_PLAN_COST_RUNMEMORY_H
#define SHARDC_PASSES_PLAN_COST_RUNMEMORY_H

#include "passes/plan/Plan.h"
#include "passes/plan/cost/Kernels.h"
#include "passes/plan/cost/Sizes.h"

namespace shardc::plan {

struct OpMemory {
  double weights = 0, live = 0, kv = 0;
  /// Of values that ops behind this one use: what a cut here sends.
  double crossing = 0;
};

/// By op.
std::vector<OpMemory> memoryOf(const Graph &graph, const Kernels &kernels,
                               const Plan &plan, const Sizes &sizes);

} // namespace shardc::plan

#endif // SHARDC_PASSES_PLAN_COST_RUNMEMORY_H
