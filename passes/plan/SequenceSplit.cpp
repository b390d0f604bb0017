//===- SequenceSplit.cpp - Splitting the positions of a sequence ----------===//

#include "passes/plan/SequenceSplit.h"

#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"

namespace shardc::plan {

using dist::AxisRef;
using onnx::FactorClass;

namespace {

/// Ops that hold a leaf, connected through values that have it.
using Component = llvm::SmallVector<unsigned, 16>;

class SequenceSplitter {
public:
  SequenceSplitter(const Graph &graph, llvm::ArrayRef<AxisRef> axes,
                   SequenceUse use, ContextMode mode)
      : graph(graph), axes(axes), use(use), mode(mode) {}

  void run(Plan &plan) {
    for (const auto &[leaf, work] : passedLeaves(/*areMixed=*/true))
      split(plan, leaf);
  }

  /// All that a sequence has passes a batch, too: the tokens of a step of rows that
  /// somebody wants to know what follows are none.
  std::optional<FactorNode> findBatch() {
    const auto sequences = passedLeaves(/*areMixed=*/true);
    const double least = sequences.empty() ? 0 : sequences.front().second;
    llvm::DenseSet<FactorNode> first;
    for (const GraphValue &value : graph.values)
      if (value.producer == kNoValue && !value.dims.empty())
        graph.space.forEachLeaf(
            value.dims[0], [&](FactorNode leaf, bool) { first.insert(leaf); });
    for (const auto &[leaf, work] : passedLeaves(/*areMixed=*/false))
      if (first.contains(leaf) && work >= least)
        return leaf;
    return std::nullopt;
  }

  void split(Plan &plan, FactorNode leaf) {
    for (const Component &component : components(plan, leaf)) {
      if (!pays(plan, component, leaf))
        continue;
      for (unsigned op : component)
        plan.ops[op].split(leaf, axes);
    }
  }

private:
  bool holds(llvm::ArrayRef<FactorNode> dims, FactorNode leaf) const {
    return graph.space.holds(dims, leaf);
  }

  /// A dim of which the axes split this leaf alone.
  dist::DimSharding splitAt(FactorNode leaf, FactorNode dim) {
    return graph.space.sharding(
        dim, [&](FactorNode other) -> llvm::ArrayRef<AxisRef> {
          return other == leaf ? axes : llvm::ArrayRef<AxisRef>();
        });
  }

  /// A product, or what appends keys to those that attention sees.
  static bool mayMix(const GraphOp &op) {
    return op.multiplyAdds > 0 || op.kind == OpKind::CacheAppend;
  }

  /// Whether positions see each other here: an operand has them, but the op
  /// needs all of them at once.
  bool mixes(const GraphOp &op, FactorNode leaf) {
    if (!mayMix(op))
      return false;
    for (auto [i, value] : llvm::enumerate(op.operandValues)) {
      if (value == kNoValue || !holds(graph.values[value].dims, leaf))
        continue;
      const OpLeaf *found = op.find(leaf);
      if (!holds(op.operands[i], leaf) ||
          (found && found->factorClass == FactorClass::NeedsReplication))
        return true;
    }
    return false;
  }

  /// Leaves that products pass through with their work, those with the most first:
  /// mixed ones are sequences.
  llvm::SmallVector<std::pair<FactorNode, double>, 2>
  passedLeaves(bool areMixed) {
    llvm::MapVector<FactorNode, double> passed;
    llvm::DenseSet<FactorNode> mixed, ofMatrices;
    for (const GraphOp &op : graph.ops)
      for (unsigned i : op.matrices)
        for (FactorNode dim : op.operands[i])
          if (op.usesWeight)
            graph.space.forEachLeaf(
                dim, [&](FactorNode leaf, bool) { ofMatrices.insert(leaf); });
    for (const GraphOp &op : graph.ops) {
      for (const OpLeaf &leaf : op.leaves)
        if (op.usesWeight && leaf.factorClass == FactorClass::PassThrough &&
            !ofMatrices.contains(leaf.leaf))
          passed[leaf.leaf] += op.multiplyAdds * op.count;
      for (unsigned value : op.operandValues)
        if (value != kNoValue && mayMix(op))
          for (FactorNode dim : graph.values[value].dims)
            graph.space.forEachLeaf(dim, [&](FactorNode leaf, bool) {
              if (!mixed.contains(leaf) && mixes(op, leaf))
                mixed.insert(leaf);
            });
    }
    auto sorted = passed.takeVector();
    llvm::stable_sort(sorted, [](const auto &a, const auto &b) {
      return a.second > b.second;
    });
    llvm::SmallVector<std::pair<FactorNode, double>, 2> found;
    for (const auto &each : sorted)
      if (mixed.contains(each.first) == areMixed)
        found.push_back(each);
    return found;
  }

  /// Whether an op may hold a part of the sequence.
  bool takes(const Plan &plan, unsigned number, FactorNode leaf) {
    const GraphOp &op = graph.ops[number];
    const OpLeaf *found = op.find(leaf);
    if (!found || !plan.ops[number].mayTake(axes, leaf) ||
        op.operandValues.empty())
      return false; // what has no operands is there on every rank
    bool isPooling = found->factorClass == FactorClass::Reduce &&
                     op.multiplyAdds == 0 && use == SequenceUse::Context;
    if (found->factorClass != FactorClass::PassThrough && !isPooling)
      return false;
    return found->rankParts == onnx::RankParts::Any || isOneRange(op, leaf);
  }

  /// Whether a rank's part of the leaf is one range of each dim that has it.
  bool isOneRange(const GraphOp &op, FactorNode leaf) {
    for (const auto *tensors : {&op.operands, &op.results})
      for (const DimNodes &dims : *tensors)
        for (FactorNode dim : dims) {
          dist::DimSharding split = splitAt(leaf, dim);
          if (split.isSplit() && !split.isOneRange())
            return false;
        }
    return true;
  }

  std::vector<Component> components(const Plan &plan, FactorNode leaf) {
    llvm::EquivalenceClasses<unsigned> classes;
    for (unsigned op : graph.opsWith(leaf))
      if (takes(plan, op, leaf))
        classes.insert(op);
    for (const GraphValue &value : graph.values) {
      if (value.producer == kNoValue || !holds(value.dims, leaf) ||
          !takes(plan, value.producer, leaf))
        continue;
      for (unsigned consumer : value.consumers)
        if (takes(plan, consumer, leaf))
          classes.unionSets(value.producer, consumer);
    }
    llvm::MapVector<unsigned, Component> byLeader;
    for (unsigned op : graph.opsWith(leaf))
      if (takes(plan, op, leaf))
        byLeader[classes.getLeaderValue(op)].push_back(op);
    std::vector<Component> found;
    for (auto &[leader, component] : byLeader) {
      prune(plan, component, leaf);
      found.push_back(component);
    }
    return found;
  }

  /// Whether some of these ops use a part of the value.
  bool isUsedIn(const llvm::DenseSet<unsigned> &members, unsigned value,
                FactorNode leaf) {
    return llvm::any_of(graph.values[value].consumers, [&](unsigned consumer) {
      const GraphOp &op = graph.ops[consumer];
      return members.contains(consumer) &&
             llvm::any_of(llvm::enumerate(op.operandValues), [&](auto operand) {
               return operand.value() == value &&
                      (holds(op.operands[operand.index()], leaf) ||
                       (mode != ContextMode::Gather &&
                        mayComeInParts(graph, op, operand.index(), leaf)));
             });
    });
  }

  /// Whether an output of the model may stay split.
  bool mayBeReturnedSplit(unsigned number, FactorNode leaf) {
    const GraphValue &value = graph.values[number];
    dist::Sharding sharding;
    for (FactorNode dim : value.dims)
      sharding.dims.push_back(splitAt(leaf, dim));
    return value.isReturned && !value.isCache && !dist::isSplitInPart(sharding);
  }

  /// Leaves out ops at the end that only move what is split, or make something
  /// larger of it, for it to become whole then: a cache with new keys appended
  /// to it, or heads that are repeated. Gathering what goes into them is
  /// cheaper.
  void prune(const Plan &plan, Component &component, FactorNode leaf) {
    llvm::DenseSet<unsigned> members(component.begin(), component.end());
    for (unsigned number : llvm::reverse(component)) {
      const GraphOp &op = graph.ops[number];
      bool isNeeded =
          op.multiplyAdds > 0 ||
          llvm::any_of(op.resultValues, [&](unsigned value) {
            return isUsedIn(members, value, leaf) ||
                   mayBeReturnedSplit(value, leaf) ||
                   llvm::any_of(graph.values[value].consumers,
                                [&](unsigned user) {
                                  return isSplitAt(plan, user, leaf);
                                });
          });
      bool onlyMoves = op.partialRule == onnx::PartialRule::Moves ||
                       op.partialRule == onnx::PartialRule::MovesAll;
      double before = 0, after = 0;
      for (unsigned value : op.operandValues)
        if (value != kNoValue && holds(graph.values[value].dims, leaf))
          before += graph.values[value].elements;
      for (unsigned value : op.resultValues)
        after += graph.values[value].elements;
      // A cache in another type than keys are computed in is cast at the end.
      const bool isCache = llvm::any_of(op.resultValues, [&](unsigned value) {
        return graph.values[value].isCache;
      });
      if (!isNeeded &&
          (after > before || ((onlyMoves || isCache) && after == before)))
        members.erase(number);
    }
    llvm::erase_if(component,
                   [&](unsigned number) { return !members.contains(number); });
  }

  bool pays(const Plan &plan, const Component &component, FactorNode leaf) {
    if (use == SequenceUse::Context)
      return llvm::any_of(component, [&](unsigned op) {
        return graph.ops[op].usesWeight || isBesideSplit(plan, op, leaf);
      });
    // Each all_reduce that becomes a reduce_scatter pays for an all_gather, and
    // who asks for this wants the memory: one more now and then is fine.
    llvm::DenseSet<unsigned> members(component.begin(), component.end());
    double numSums = 0, numGathers = 0;
    for (const auto &[number, value] : llvm::enumerate(graph.values)) {
      if (!holds(value.dims, leaf) || value.producer == kNoValue)
        continue;
      bool isInside = members.contains(value.producer);
      bool isUsedInside = isUsedIn(members, number, leaf);
      bool isUsedOutside =
          llvm::any_of(value.consumers, [&](unsigned consumer) {
            return !members.contains(consumer);
          });
      const double count = graph.ops[value.producer].count;
      if (!isInside && isUsedInside && isSum(plan, number))
        numSums += count;
      if (isInside && isUsedOutside)
        numGathers += count;
    }
    return numSums > 0 && numGathers <= 2 * numSums;
  }

  /// Whether it is decided already that the op has parts of the leaf.
  bool isSplitAt(const Plan &plan, unsigned op, FactorNode leaf) const {
    return llvm::any_of(plan.ops[op].splits, [&](const LeafSplit &split) {
      return split.leaf == leaf && split.axes == axes;
    });
  }

  /// Whether that is so of ops that make its operands or use its results.
  bool isBesideSplit(const Plan &plan, unsigned number, FactorNode leaf) {
    auto isSplit = [&](unsigned op) { return isSplitAt(plan, op, leaf); };
    const GraphOp &op = graph.ops[number];
    return llvm::any_of(op.operandValues,
                        [&](unsigned value) {
                          return value != kNoValue &&
                                 graph.values[value].producer != kNoValue &&
                                 isSplit(graph.values[value].producer);
                        }) ||
           llvm::any_of(op.resultValues, [&](unsigned value) {
             return llvm::any_of(graph.values[value].consumers, isSplit);
           });
  }

  /// Whether ranks of these axes hold summands of the value.
  bool isSum(const Plan &plan, unsigned value) {
    return llvm::any_of(producedSharding(graph, plan, value).partial,
                        [&](const dist::PartialAxis &partial) {
                          return dist::overlapsAny(axes, partial.axis);
                        });
  }

  const Graph &graph;
  llvm::ArrayRef<AxisRef> axes;
  SequenceUse use;
  ContextMode mode;
};

} // namespace

void splitSequences(const Graph &graph, Plan &plan,
                    llvm::ArrayRef<AxisRef> axes, SequenceUse use,
                    ContextMode mode) {
  if (dist::numWays(axes) > 1)
    SequenceSplitter(graph, axes, use, mode).run(plan);
}

static SequenceSplitter batchSplitter(const Graph &graph,
                                      llvm::ArrayRef<AxisRef> axes) {
  return {graph, axes, SequenceUse::Context, ContextMode::Gather};
}

std::optional<FactorNode> findBatchLeaf(const Graph &graph) {
  return batchSplitter(graph, {}).findBatch();
}

void splitBatch(const Graph &graph, Plan &plan, llvm::ArrayRef<AxisRef> axes) {
  SequenceSplitter splitter = batchSplitter(graph, axes);
  if (std::optional<FactorNode> batch = splitter.findBatch();
      batch && dist::numWays(axes) > 1)
    splitter.split(plan, *batch);
}

} // namespace shardc::plan
