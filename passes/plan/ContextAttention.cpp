//===- ContextAttention.cpp - Attention over a split sequence -------------===//

#include "passes/plan/ContextAttention.h"

#include "llvm/Support/raw_ostream.h"

#include <numeric>

namespace shardc::plan {

using dist::AxisRef;
using llvm::ArrayRef;

std::optional<ContextMode> symbolizeContextMode(llvm::StringRef text) {
  if (text == "gather")
    return ContextMode::Gather;
  if (text == "ring")
    return ContextMode::Ring;
  if (text == "ulysses")
    return ContextMode::Ulysses;
  return std::nullopt;
}

namespace {

constexpr unsigned kQuery = 0, kKey = 1, kValue = 2; ///< operands
constexpr unsigned kHeads = 1, kRows = 2;            ///< dims of each

class AttentionSplitter {
public:
  AttentionSplitter(const Graph &graph, Plan &plan, unsigned number,
                    ArrayRef<AxisRef> axes)
      : graph(graph), plan(plan), number(number), op(graph.ops[number]),
        decided(plan.ops[number]), axes(axes) {}

  /// Keys come in turn; where later queries see more of them, zig-zag.
  void useRing() {
    decided.inTurn = AxisList(axes);
    const FactorNode rows = graph.space.find(op.operands[kQuery][kRows]);
    for (LeafSplit &split : decided.splits)
      split.isZigZag |= op.isCausal && split.leaf == rows &&
                        ArrayRef<AxisRef>(split.axes) == axes;
  }

  /// Heads take the place of positions.
  void useHeads() {
    std::optional<llvm::SmallVector<LeafSplit, 2>> heads = splitHeads();
    if (!heads)
      return noteThatHeadsDoNotDivide();
    for (LeafSplit &split : decided.splits)
      llvm::erase_if(split.axes, [&](const AxisRef &axis) {
        return llvm::is_contained(axes, axis);
      });
    llvm::erase_if(decided.splits,
                   [](const LeafSplit &split) { return split.axes.empty(); });
    for (const LeafSplit &split : *heads)
      decided.split(split.leaf, split.axes);
  }

private:
  void noteThatHeadsDoNotDivide() {
    std::string text;
    llvm::raw_string_ostream os(text);
    os << "--cp-mode ulysses: " << numHeads(kQuery) << " query heads and "
       << numHeads(kKey) << " key heads do not divide over "
       << dist::numWays(axes) << " ranks"
       << (decided.splits.size() > 1 ? " beside what splits them already" : "")
       << ": all keys are gathered; use --cp-mode ring";
    plan.notes.push_back({number, text});
  }

  std::string numHeads(unsigned operand) const {
    return graph.values[op.operandValues[operand]].sizes[kHeads].str();
  }

  llvm::SmallVector<FactorNode, 2> leavesOf(FactorNode dim) {
    llvm::SmallVector<FactorNode, 2> leaves;
    graph.space.forEachLeaf(dim, [&](FactorNode leaf, bool isBuried) {
      const OpLeaf *found = op.find(leaf);
      if (!isBuried && found &&
          found->factorClass == onnx::FactorClass::PassThrough)
        leaves.push_back(leaf);
    });
    return leaves;
  }

  /// How many elements of a leaf each rank has; 1 where they are not alike.
  int64_t elementsLeft(FactorNode leaf) {
    int64_t ways = 1;
    for (const LeafSplit &split : decided.splits)
      if (split.leaf == leaf)
        ways = dist::numWays(split.axes);
    std::optional<int64_t> size = graph.space.size(leaf).asConstant();
    return size && *size % ways == 0 ? *size / ways : 1;
  }

  /// As many ways as divide go to the key heads, the rest to the query heads
  /// of each, whose keys several ranks then hold.
  std::optional<llvm::SmallVector<LeafSplit, 2>> splitHeads() {
    llvm::SmallVector<FactorNode, 2> leaves =
        leavesOf(op.operands[kKey][kHeads]);
    for (FactorNode leaf : leavesOf(op.operands[kQuery][kHeads]))
      if (!llvm::is_contained(leaves, leaf))
        leaves.push_back(leaf);
    llvm::SmallVector<LeafSplit, 2> splits;
    AxisList rest(axes);
    for (FactorNode leaf : leaves) {
      const int64_t ways = std::gcd(elementsLeft(leaf), dist::numWays(rest));
      auto parts = dist::cutWays(rest, ways);
      if (ways == 1 || !parts)
        continue;
      splits.push_back({leaf, parts->first});
      rest = parts->second;
    }
    if (!rest.empty())
      return std::nullopt;
    return splits;
  }

  const Graph &graph;
  Plan &plan;
  const unsigned number;
  const GraphOp &op;
  OpPlan &decided;
  ArrayRef<AxisRef> axes;
};

/// Whether all of these axes split the queries' positions.
bool splitsQueries(const Graph &graph, const Plan &plan, unsigned number,
                   ArrayRef<AxisRef> axes) {
  return llvm::any_of(plan.ops[number].splits, [&](const LeafSplit &split) {
    return llvm::all_of(axes,
                        [&](const AxisRef &axis) {
                          return llvm::is_contained(split.axes, axis);
                        }) &&
           graph.space.holds(graph.ops[number].operands[kQuery][kRows],
                             split.leaf);
  });
}

/// Whether keys or values become a cache, all of which each rank gets anyway.
bool areKept(const Graph &graph, const GraphOp &op) {
  return llvm::any_of(ArrayRef({kKey, kValue}), [&](unsigned operand) {
    return graph.values[op.operandValues[operand]].isCache;
  });
}

} // namespace

bool mayComeInParts(const Graph &graph, const GraphOp &op, unsigned operand,
                    FactorNode leaf) {
  if (op.kind != OpKind::Attention || (operand != kKey && operand != kValue))
    return false;
  const GraphValue &value = graph.values[op.operandValues[operand]];
  return graph.space.find(value.dims[kRows]) == leaf;
}

void splitAttention(const Graph &graph, Plan &plan, ArrayRef<AxisRef> axes,
                    ContextMode mode) {
  if (mode == ContextMode::Gather || dist::numWays(axes) == 1)
    return;
  for (unsigned op = 0; op < graph.ops.size(); ++op) {
    if (graph.ops[op].kind != OpKind::Attention ||
        !splitsQueries(graph, plan, op, axes))
      continue;
    AttentionSplitter splitter(graph, plan, op, axes);
    if (mode == ContextMode::Ulysses)
      splitter.useHeads();
    else if (!areKept(graph, graph.ops[op]))
      splitter.useRing();
  }
}

} // namespace shardc::plan
