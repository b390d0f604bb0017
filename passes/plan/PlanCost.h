//===- PlanCost.h - How long a plan takes, roughly ------------------------===//
//
// For choices that the shape of the model does not settle (PlanSearch.h), but
// the sizes of requests do. The busiest rank's time for one run, counted in the
// multiply-adds that it could do meanwhile:
//
//   a product with weights   its multiply-adds, or the reading of the weights
//                            that the rank holds, whichever takes longer
//   a collective             what a rank sends or receives, and its start
//
// Example, a product of 8 tokens with a matrix of 4096 x 4096 on a tp of 2:
//   multiply-adds 8 * 4096 * 2048 = 67 M, reading 16 MiB is worth 2.5 G: a rank
//   that holds the whole matrix would take twice as long, whatever its tokens.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_PLAN_PLANCOST_H
#define SHARDC_PASSES_PLAN_PLANCOST_H

#include "passes/plan/Plan.h"

#include "llvm/ADT/StringMap.h"

namespace shardc::plan {

/// What a device could multiply and add in the time of something else; 16-bit
/// elements on the accelerators of the day (some 500 T multiply-adds/s, 3.4
/// TB/s of memory, 450 GB/s to its neighbours, 5 us to start a collective).
/// Only the ratios matter.
struct DeviceBalance {
  double perWeightElement = 300;
  double perSentElement = 2200;
  double perCollective = 2.5e9;
};

/// Symbols that `sizes` lacks have the graph's nominal sizes.
double planCost(const Graph &graph, const Plan &plan,
                const llvm::StringMap<int64_t> &sizes,
                const DeviceBalance &balance = {});

} // namespace shardc::plan

#endif // SHARDC_PASSES_PLAN_PLANCOST_H
