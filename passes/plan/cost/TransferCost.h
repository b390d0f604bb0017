//===- TransferCost.h - Seconds from one stage to the next ----------------===//
//
// Each rank sends what it holds to the rank of the other stage with the same
// coordinates. What several ranks hold alike each of them may send a part of,
// and the receivers gather the parts over the links inside of their node
// (scatter/gather of Narayanan et al. 2021, arXiv 2104.04473, 4.1):
//
//   16 MB held by 8 ranks of a node, InfiniBand of 50 GB/s for each of them,
//   NVLink inside:    whole 0.34 ms    parts of 2 MB and an all_gather 0.12 ms
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_PLAN_COST_TRANSFERCOST_H
#define SHARDC_PASSES_PLAN_COST_TRANSFERCOST_H

#include "passes/plan/machine/Machine.h"

namespace shardc::plan {

struct Transfer {
  int64_t from = 0, to = 1; ///< stages
  double bytes = 0;         ///< that a rank holds
  /// Over which the ranks of a stage hold the same.
  llvm::SmallVector<dist::AxisRef, 2> alike;
};

/// As it is, and in parts; `mesh` is that of all ranks.
double wholeSeconds(const Machine &machine, const dist::Mesh &mesh,
                    const Transfer &transfer);
double scatteredSeconds(const Machine &machine, const dist::Mesh &mesh,
                        const Transfer &transfer);

} // namespace shardc::plan

#endif // SHARDC_PASSES_PLAN_COST_TRANSFERCOST_H
