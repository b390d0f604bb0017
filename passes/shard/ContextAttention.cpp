//===- ContextAttention.cpp - Attention over a split sequence -------------===//

#include "passes/shard/ContextAttention.h"

#include "dialects/onnx/ops/Attention.h"

#include <numeric>

using namespace mlir;

namespace shardc::shard {

using dist::AxisRef;

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
  AttentionSplitter(ShardingGraph &graph, GraphOp &op, ArrayRef<AxisRef> axes)
      : graph(graph), op(op), axes(axes) {}

  /// Keys come in turn; where later queries see more of them, zig-zag.
  void useRing() {
    op.inTurn = AxisList(axes);
    const FactorNode rows = graph.space.find(op.operands[kQuery][kRows]);
    auto attention = cast<onnx::AttentionOp>(op.op);
    for (LeafSplit &split : op.splits)
      split.isZigZag |= attention.getIsCausal() && split.leaf == rows &&
                        ArrayRef(split.axes) == axes;
  }

  /// Heads take the place of positions.
  void useHeads() {
    std::optional<llvm::SmallVector<LeafSplit, 2>> heads = splitHeads();
    if (!heads) {
      op.op->emitWarning() << "--cp-mode ulysses: " << numHeads(kQuery)
                           << " query heads and " << numHeads(kKey)
                           << " key heads do not divide over "
                           << dist::numWays(axes) << " ranks"
                           << (op.splits.size() > 1
                                   ? " beside what splits them already"
                                   : "")
                           << ": all keys are gathered; use --cp-mode ring";
      return;
    }
    for (LeafSplit &split : op.splits)
      llvm::erase_if(split.axes, [&](const AxisRef &axis) {
        return llvm::is_contained(axes, axis);
      });
    llvm::erase_if(op.splits,
                   [](const LeafSplit &split) { return split.axes.empty(); });
    for (const LeafSplit &split : *heads)
      op.split(split.leaf, split.axes);
  }

private:
  std::string numHeads(unsigned operand) const {
    return dist::getDims(op.op->getOperand(operand).getType())[kHeads].str();
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
    for (const LeafSplit &split : op.splits)
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

  ShardingGraph &graph;
  GraphOp &op;
  ArrayRef<AxisRef> axes;
};

/// Whether all of these axes split the queries' positions.
bool splitsQueries(ShardingGraph &graph, const GraphOp &op,
                   ArrayRef<AxisRef> axes) {
  return llvm::any_of(op.splits, [&](const LeafSplit &split) {
    return llvm::all_of(axes,
                        [&](const AxisRef &axis) {
                          return llvm::is_contained(split.axes, axis);
                        }) &&
           graph.space.holds(op.operands[kQuery][kRows], split.leaf);
  });
}

} // namespace

bool mayComeInParts(ShardingGraph &graph, const GraphOp &op, unsigned operand,
                    FactorNode leaf) {
  if (!isa<onnx::AttentionOp>(op.op) || (operand != kKey && operand != kValue))
    return false;
  const GraphValue &value = graph.values[op.operandValues[operand]];
  return graph.space.find(value.dims[kRows]) == leaf;
}

void splitAttention(ShardingGraph &graph, ArrayRef<AxisRef> axes,
                    ContextMode mode) {
  if (mode == ContextMode::Gather || dist::numWays(axes) == 1)
    return;
  for (GraphOp &op : graph.ops) {
    if (!isa<onnx::AttentionOp>(op.op) || !splitsQueries(graph, op, axes))
      continue;
    AttentionSplitter splitter(graph, op, axes);
    if (mode == ContextMode::Ring)
      splitter.useRing();
    else
      splitter.useHeads();
  }
}

} // namespace shardc::shard
