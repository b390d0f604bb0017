//===- RankOrder.h - Which ranks share a node -----------------------------===//
//
// Ranks fill nodes in their order (Machine.h), so that the inner axes of a mesh
// are inside of nodes. Where they do not fit a node together, it matters which
// ones are:
//
//   nodes of 8, {ep 8, tp 2}   ep, tp (default): half of ep inside, half across
//                              tp, ep: ep inside of a node, tp between two
//
// What is sent over which links depends on nothing but what is inside, and which
// axis the border of nodes cuts: within a node, and between them, any order of
// axes is as good as any other.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_PLAN_DEGREES_RANKORDER_H
#define SHARDC_PASSES_PLAN_DEGREES_RANKORDER_H

#include "passes/plan/degrees/Degrees.h"

namespace shardc::plan {

/// Those with other neighbours than in the default order, one of each kind. None
/// where all ranks that talk to each other are inside of a node. Replicas do not:
/// "dp" stays outermost.
std::vector<Degrees> otherOrders(const Degrees &degrees,
                                 const Machine &machine);

/// Of all ranks, but for outer axes of replicas and stages whose ranks have the
/// same neighbours each.
dist::Mesh neighbourMesh(const Degrees &degrees, const Machine &machine);

} // namespace shardc::plan

#endif // SHARDC_PASSES_PLAN_DEGREES_RANKORDER_H
