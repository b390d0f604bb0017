//===- FitSearch.h - The fewest devices on which a model fits -------------===//
//
// Bytes are known without any time (Predictor.h), and of most degrees it is clear
// without a plan that they have too many: no axis parts weights but "tp", "ep",
// "pp" and "fsdp", and no more than all ranks together share caches.
//
//   llama3-405b in bf16 on devices of 80 GB: 812 GB of weights, so tp x pp x ep x
//   fsdp are at least 11, whatever the rest is
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_PLAN_DEGREES_FITSEARCH_H
#define SHARDC_PASSES_PLAN_DEGREES_FITSEARCH_H

#include "passes/plan/degrees/DegreeSpace.h"
#include "passes/plan/degrees/MixPredictor.h"

#include <optional>

namespace shardc::plan {

/// What is still to be tried before a search gives up: of a model of many layers
/// each plan takes some milliseconds.
struct FitBudget {
  int64_t plans = 400;
};

/// The fewest devices of the machine, and of degrees with as many the fastest.
/// Weights take `weightShare` of their bytes. Nothing where none fit, or the
/// budget, of which it takes what it needs, is spent.
std::optional<Degrees> findFewestDevices(llvm::ArrayRef<Workload> kinds,
                                         const Machine &machine,
                                         const FixedDegrees &fixed,
                                         FitBudget &budget,
                                         double weightShare = 1);

} // namespace shardc::plan

#endif // SHARDC_PASSES_PLAN_DEGREES_FITSEARCH_H
