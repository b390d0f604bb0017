//===- Plan.h - What is decided about a program ---------------------------===//
//
// A value: for each op of a graph (Graph.h), which axes split which factor, over
// which it carries partial sums, and over which its keys come in turn. The
// shardings of all operands and results follow.
//
//   y = product(x [b, 64], w [64, 256]), "tp" = 2 on the leaf of 64:
//   x [b, {"tp"=2}]   w [{"tp"=2}, 256]   y [b, 256] partial {"tp"=2: sum}
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_PLAN_PLAN_H
#define SHARDC_PASSES_PLAN_PLAN_H

#include "passes/plan/Graph.h"

namespace shardc::plan {

/// Major first.
using AxisList = llvm::SmallVector<dist::AxisRef, 1>;

/// Axes that split a leaf, at one op.
struct LeafSplit {
  FactorNode leaf;
  AxisList axes;
  bool isZigZag = false; ///< only of dims that are this leaf
};

struct OpPlan {
  llvm::SmallVector<LeafSplit, 1> splits; ///< one for each leaf
  /// Axes over which operands and results are carried as partial sums.
  AxisList carried;
  /// Axes over which the ranks' parts of keys and values come in turn.
  AxisList inTurn;
  bool isPinned = false; ///< a user has decided it: see Pins.h
  /// Leaves that a user has decided here, whole or split, whatever else is.
  llvm::SmallVector<FactorNode, 2> settled;

  /// Whether one of these axes splits the op or is carried.
  bool uses(llvm::ArrayRef<dist::AxisRef> axes) const;
  /// Whether it is not to be split by these axes any more.
  bool isDecided(llvm::ArrayRef<dist::AxisRef> axes) const {
    return isPinned || uses(axes);
  }
  /// Whether these axes may yet split that leaf of it.
  bool mayTake(llvm::ArrayRef<dist::AxisRef> axes, FactorNode leaf) const {
    return !isDecided(axes) && !llvm::is_contained(settled, leaf);
  }
  /// Splits a leaf further; the axes that it has already stay major.
  void split(FactorNode leaf, llvm::ArrayRef<dist::AxisRef> axes);
};

/// What could not be had, for people.
struct PlanNote {
  unsigned op;
  std::string text;
};

struct Plan {
  std::vector<OpPlan> ops; ///< by number in the graph
  std::vector<PlanNote> notes;

  Plan() = default;
  explicit Plan(const Graph &graph) : ops(graph.ops.size()) {}
};

/// Sharding that an op that is split like that wants for an operand, and gives a
/// result.
dist::Sharding operandSharding(const Graph &graph, const OpPlan &plan,
                               unsigned op, unsigned operand);
dist::Sharding resultSharding(const Graph &graph, const OpPlan &plan,
                              unsigned op, unsigned result);
inline dist::Sharding operandSharding(const Graph &graph, const Plan &plan,
                                      unsigned op, unsigned operand) {
  return operandSharding(graph, plan.ops[op], op, operand);
}
inline dist::Sharding resultSharding(const Graph &graph, const Plan &plan,
                                     unsigned op, unsigned result) {
  return resultSharding(graph, plan.ops[op], op, result);
}
/// The one in which its producer leaves a value; whole for inputs.
dist::Sharding producedSharding(const Graph &graph, const Plan &plan,
                                unsigned value);

} // namespace shardc::plan

#endif // SHARDC_PASSES_PLAN_PLAN_H
