//===- Alternatives.h - What an op could be split like instead ------------===//
//
// An op's other choices are to run whole, and to have another of its factors
// split over an axis, with all ops that share the factor. Each is pinned (Pins.h),
// what is left is searched anew, and the whole run is priced:
//
//   down of a layer is split over "tp" by rows, which takes an all_reduce:
//   whole, with up and gate that then stay whole as well, a step takes 31 us more
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_PLAN_ALTERNATIVES_H
#define SHARDC_PASSES_PLAN_ALTERNATIVES_H

#include "passes/plan/Plan.h"
#include "passes/plan/cost/OpCost.h"

namespace shardc::plan {

struct Alternative {
  dist::Sharding sharding; ///< of the op's first result
  Seconds seconds;         ///< of a run of the whole program
};

/// The fastest of them; nothing where the op has no other choice. `search` makes
/// a plan of one in which things are pinned, `price` says what a run of it takes.
std::optional<Alternative>
bestAlternative(const Graph &graph, unsigned op, const Plan &chosen,
                const dist::Mesh &mesh,
                llvm::function_ref<Plan(const Plan &start)> search,
                llvm::function_ref<Seconds(const Plan &)> price);

} // namespace shardc::plan

#endif // SHARDC_PASSES_PLAN_ALTERNATIVES_H
