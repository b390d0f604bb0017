//===- LeastWork.h - What any split of weights leaves to do ---------------===//
//
// Of a program whose weights are whole, in seconds by op: what no split of them
// makes less. Starts of kernels are the same for any part; an op that has no factor
// of a weight, such as a norm, is done whole by each rank; the rest may be shared
// out.
//
//   16 ranks      whole      least
//   norm          7 us       7 us       a start of 3 us, and rows that all have
//   product       163 us     13 us      its start, and a sixteenth of the rest
//
// Nothing is said of what is sent: a plan whose last product alone is split by
// columns sends nothing, and sums that are added before anybody needs them are sent
// once, so that no single factor has to pay for a collective.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_PLAN_LEASTWORK_H
#define SHARDC_PASSES_PLAN_LEASTWORK_H

#include "passes/plan/cost/OpCost.h"
#include "passes/plan/machine/Machine.h"

namespace shardc::plan {

struct WorkSplit {
  /// How many times the slowest rank's least part all is.
  double parts = 1;
  /// Other things than factors of weights may be split over the same axes, such as
  /// positions.
  bool splitsOthers = false;
};

/// Of the seconds by op of a plan in which no weight is split. An op counts as often
/// as it is there.
double leastWork(const Graph &graph, const Kernels &kernels,
                 const Machine &machine, llvm::ArrayRef<Seconds> whole,
                 const WorkSplit &split);

} // namespace shardc::plan

#endif // SHARDC_PASSES_PLAN_LEASTWORK_H
