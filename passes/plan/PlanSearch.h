//===- PlanSearch.h - Which factors an axis splits ------------------------===//
//
// Splitting a leaf of the factor space splits every op in which it occurs, with
// no communication inside that region: the heads of a layer, from the columns
// of its q, k and v matrices to the rows of its output matrix. Collectives are
// paid at the border, where the leaf is summed away or has to be whole.
//
// What a collective is worth is weighed free of sizes that are not known when
// compiling (sequence length, link speed) and free of scale, so that a model of
// 0.5 M and one of 405 G parameters get the same layout. The multiply-adds of
// the products with weights that a region splits must exceed, per collective,
// its largest single product (of packed segments the largest one) plus a
// quarter of the model's mean product. So:
//
//   attention, MLP: columns, then rows   split, one collective
//   router, pooler: nothing to pair with whole, and --explain says so
//   LM head: its output may stay split   split, no collective
//   embedding                            split, counted with its product
//
// Where sums stay whole (dialects/onnx/WholeSums.h) no product has rows to pair its
// columns with: each must exceed a quarter of the mean product per collective.
//
// No op is split by two regions: of regions that have one in common those are
// taken that save most together (IndependentSet.h), with what whole graphs of
// equal layers decide still exactly.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_PLAN_PLANSEARCH_H
#define SHARDC_PASSES_PLAN_PLANSEARCH_H

#include "dialects/dist/algebra/Shares.h"
#include "passes/plan/Plan.h"

namespace shardc::plan {

/// Which leaves of weights a search may split.
enum class LeafRole {
  Experts, ///< the experts of a mixture
  Others   ///< everything else
};

/// Calls visit(leaf) for each leaf of the matrices of products, once, in the order
/// of their first products.
void forEachMatrixLeaf(const Graph &graph, LeafRole role,
                       llvm::function_ref<void(FactorNode)> visit);

/// Splits ops of the graph over all of `axes` together, major first: those that
/// no axis of them splits yet. Deterministic.
void searchPlan(const Graph &graph, Plan &plan,
                llvm::ArrayRef<dist::AxisRef> axes,
                LeafRole role = LeafRole::Others);

/// Largest part of a leaf that a rank owns, as a fraction: 6 heads over 4 ways
/// are 2 / 6. Sizes that are not constant split evenly.
double largestShare(dist::DimExpr size, int64_t ways);
/// Of a rank's share of so many elements, the most that one gets: 2 heads over
/// "tp"=2:[3, 1] are one each, twice what the last rank is to have. 1 where
/// nothing is rounded.
double timesItsShare(int64_t size, llvm::ArrayRef<dist::AxisRef> axes,
                     const dist::Mesh &mesh);

} // namespace shardc::plan

#endif // SHARDC_PASSES_PLAN_PLANSEARCH_H
