//===- Pins.h - Shardings that a user wants -------------------------------===//
//
// Of the first result of a node, or of a weight, as shardings are written:
//
//   --pin 'lm_head.weight=[{}, {}]'           whole on every rank
//   --pin 'lm_head.weight=[{}, {"tp"=4}]'     by columns; [{}, {tp}] is as good
//
// What is split so takes along every op that has the same factor, as a region of
// the search does (PlanSearch.h), and the search leaves all that is pinned as it
// is. An op that is pinned whole is split by nothing.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_PLAN_PINS_H
#define SHARDC_PASSES_PLAN_PINS_H

#include "passes/plan/PlanFile.h"

namespace shardc::plan {

struct Pin {
  std::string text, node;
  std::vector<std::vector<std::string>> axes; ///< by dim
};

/// Of "NODE=SHARDING": "" or what is wrong.
std::string parsePin(llvm::StringRef text, Pin &pin);

/// Puts them into a plan of the graph that nothing is decided of yet. "" or which
/// of them does not fit, and why. Pins of nodes that the graph does not have are
/// noted in `unused`.
std::string applyPins(llvm::ArrayRef<Pin> pins, const Graph &graph,
                      const OpNames &names, const dist::Mesh &mesh, Plan &plan,
                      std::vector<const Pin *> &unused);

/// "" or a pin that a plan which was made from applyPins on does not keep, and
/// what it has in its place.
std::string findUnkept(llvm::ArrayRef<Pin> pins, const Graph &graph,
                       const OpNames &names, const dist::Mesh &mesh,
                       const Plan &plan);

/// What pins come to: an op that nothing splits, or a leaf that is split at every
/// op that has it, but for those that are pinned or have the axes already.
void pinWhole(const Graph &graph, unsigned op, Plan &plan);
void pinLeaf(const Graph &graph, FactorNode leaf, const AxisList &axes,
             Plan &plan);

} // namespace shardc::plan

#endif // SHARDC_PASSES_PLAN_PINS_H
