//===- CarriedSums.h - Sums of parts that are added before the collective -===//
//
// A row-parallel product leaves a sum whose parts the ranks hold. Where two
// such sums are added, the parts may be added first: one collective, not two.
//
//   attention  = MatMul(a, wo)      partial {"tp": sum}
//   mlp        = MatMul(h, down)    partial {"tp": sum}
//   both       = Add(attention, mlp)           partial {"tp": sum}
//   residual   = Add(x, all_reduce(both))
//
// So a layer with parallel attention and MLP, or a mixture beside a shared
// expert, has one collective. What is added on the way and is no such sum, a
// bias, is added by one rank of each group. What moves elements or is linear
// passes the parts on.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_PLAN_CARRIEDSUMS_H
#define SHARDC_PASSES_PLAN_CARRIEDSUMS_H

#include "passes/plan/Plan.h"

namespace shardc::plan {

/// Carries sums through the additions where that saves a collective.
/// `isResidualSplit`: the residual will be split over the sequence; adding it
/// once would take a gather, which costs what is saved.
void carrySums(const Graph &graph, Plan &plan, bool isResidualSplit);

} // namespace shardc::plan

#endif // SHARDC_PASSES_PLAN_CARRIEDSUMS_H
