//===- StoredWeights.cpp - Weights that ranks share out among them --------===//

#include "passes/plan/StoredWeights.h"

#include "dialects/dist/algebra/StorageAxis.h"
#include "passes/plan/PlanSearch.h"
#include "passes/plan/cost/Kernels.h"

#include "llvm/ADT/SetVector.h"

#include <map>

namespace shardc::plan {

using dist::AxisRef;
using dist::Sharding;
using onnx::FactorClass;

namespace {

/// Of the mean matrix' bytes, what is worth a collective of its own. A router is
/// not, keys of few heads and scales of quantised weights are. What is looked up in
/// a table takes two, often in each layer: words are worth that, angles are not.
constexpr double kLeastMatrix = 1.0 / 64, kLeastTable = 1.0 / 4;

/// Shares of a rank that differ by less are equal.
constexpr double kEqual = 1e-9;

class StorageSplitter {
public:
  StorageSplitter(const Graph &graph, Plan &plan, llvm::ArrayRef<AxisRef> axes)
      : graph(graph), plan(plan), axes(axes) {}

  void run() {
    const double mean = meanBytes();
    for (unsigned op = 0; op < graph.ops.size(); ++op)
      if (isMatrix(op) && !plan.ops[op].isDecided(axes))
        split(op, bytesOf(op) / mean);
  }

private:
  /// A weight that is a matrix of the model.
  bool isMatrix(unsigned op) const {
    return graph.ops[op].kind == OpKind::Weight &&
           graph.values[graph.ops[op].resultValues[0]].isWeightDerived;
  }

  double bytesOf(unsigned weight) const {
    const GraphValue &value = graph.values[graph.ops[weight].resultValues[0]];
    return value.elements * double(value.bits) / 8;
  }

  double meanBytes() const {
    double bytes = 0, count = 0;
    for (unsigned op = 0; op < graph.ops.size(); ++op)
      if (isMatrix(op)) {
        bytes += bytesOf(op) * graph.ops[op].count;
        count += graph.ops[op].count;
      }
    return bytes / std::max(1.0, count);
  }

  /// What has a weight's elements before there is an input: ops that hold parts of
  /// it, the weight first.
  struct Island {
    llvm::SmallSetVector<unsigned, 4> ops;
    llvm::SmallVector<unsigned, 1> lookups; ///< that find their rows in it
  };

  bool isLookup(unsigned number, unsigned value) const {
    const GraphOp &op = graph.ops[number];
    return !op.operandValues.empty() && op.operandValues[0] == value &&
           llvm::any_of(op.leaves, [](const OpLeaf &leaf) {
             return leaf.factorClass == FactorClass::Lookup;
           });
  }

  /// Only another view of its operand.
  bool isView(unsigned number) const {
    const GraphOp &op = graph.ops[number];
    if (op.partialRule != onnx::PartialRule::Moves ||
        op.resultValues.size() != 1 || op.operandValues[0] == kNoValue)
      return false;
    const GraphValue &from = graph.values[op.operandValues[0]],
                     &to = graph.values[op.resultValues[0]];
    return from.elements == to.elements && from.bits == to.bits;
  }

  /// Whether it computes elements when weights are loaded, or what it makes is
  /// computed with then.
  bool worksAtLoad(unsigned op) {
    if (!Kernels::isLoadTime(op, graph) ||
        graph.ops[op].kind == OpKind::Dequantize)
      return false;
    if (!isView(op))
      return true;
    auto [known, isNew] = views.try_emplace(op, false);
    if (isNew)
      for (unsigned user :
           graph.values[graph.ops[op].resultValues[0]].consumers)
        if (worksAtLoad(user))
          return views[op] = true;
    return views.lookup(op);
  }

  Island islandOf(unsigned weight) {
    Island island;
    island.ops.insert(weight);
    for (size_t i = 0; i < island.ops.size(); ++i)
      for (unsigned value : graph.ops[island.ops[i]].resultValues)
        for (unsigned user : graph.values[value].consumers)
          if (worksAtLoad(user))
            island.ops.insert(user);
          else if (isLookup(user, value))
            island.lookups.push_back(user);
    return island;
  }

  bool passes(unsigned op, FactorNode leaf) const {
    const OpLeaf *found = graph.ops[op].find(leaf);
    return found && found->factorClass == FactorClass::PassThrough &&
           !plan.ops[op].isDecided(axes);
  }

  /// Whether rows that are found in it may come by columns.
  bool passesLookup(unsigned op, FactorNode leaf) const {
    const OpLeaf *found = graph.ops[op].find(leaf);
    return found && found->factorClass == FactorClass::PassThrough &&
           !plan.ops[op].isPinned;
  }

  int64_t waysOn(unsigned op, FactorNode leaf) const {
    for (const LeafSplit &split : plan.ops[op].splits)
      if (split.leaf == leaf)
        return dist::numWays(split.axes);
    return 1;
  }

  /// What the fullest rank has of a dim that is split there, as a fraction.
  double share(unsigned weight, FactorNode dim, FactorNode leaf) const {
    const int64_t ways = waysOn(weight, leaf), all = ways * dist::numWays(axes);
    double kept = 0;
    for (FactorNode segment : graph.space.segments(dim)) {
      const double size = graph.evaluate(graph.space.size(segment));
      const bool isHere = graph.space.holds(segment, leaf);
      const dist::DimExpr leafSize = graph.space.size(leaf);
      kept += size * (isHere ? largestShare(leafSize, all) /
                                   largestShare(leafSize, ways)
                             : 1);
    }
    return kept / std::max(1.0, graph.evaluate(graph.space.size(dim)));
  }

  /// Which part of it a rank holds is known before there is an input.
  bool isKnown(FactorNode dim) const {
    bool isKnown = true;
    graph.space.forEachLeaf(dim, [&](FactorNode leaf, bool) {
      isKnown &= graph.space.size(leaf).asConstant().has_value();
    });
    return isKnown;
  }

  std::optional<FactorNode> bestLeaf(const Island &island) const {
    const unsigned weight = island.ops.front();
    std::optional<FactorNode> best;
    double least = 1 - kEqual; // less than all of it
    for (FactorNode dim : graph.ops[weight].results[0])
      graph.space.forEachLeaf(dim, [&](FactorNode leaf, bool isBuried) {
        const bool fits =
            !isBuried && isKnown(dim) &&
            llvm::all_of(island.ops,
                         [&](unsigned op) { return passes(op, leaf); }) &&
            llvm::all_of(island.lookups,
                         [&](unsigned op) { return passesLookup(op, leaf); });
        const double here = fits ? share(weight, dim, leaf) : 1;
        if (here < least - kEqual) {
          best = leaf;
          least = here;
        }
      });
    return best;
  }

  /// `size`: of the mean matrix' bytes.
  void split(unsigned weight, double size) {
    Island island = islandOf(weight);
    if (size < (island.lookups.empty() ? kLeastMatrix : kLeastTable))
      return;
    std::optional<FactorNode> leaf = bestLeaf(island);
    if (!leaf) { // its rows are found in the whole
      island.lookups.clear();
      leaf = bestLeaf(island);
    }
    if (!leaf)
      return;
    for (unsigned op : island.ops)
      plan.ops[op].split(*leaf, axes);
    for (unsigned op : island.lookups) {
      leaveRows(plan.ops[op]);
      plan.ops[op].split(*leaf, axes);
    }
  }

  /// The op gets all rows.
  void leaveRows(OpPlan &op) const {
    for (LeafSplit &split : op.splits)
      llvm::erase_if(split.axes, [&](const AxisRef &axis) {
        return dist::overlapsAny(axes, axis);
      });
    llvm::erase_if(op.splits,
                   [](const LeafSplit &split) { return split.axes.empty(); });
  }

  const Graph &graph;
  Plan &plan;
  llvm::ArrayRef<AxisRef> axes;
  llvm::DenseMap<unsigned, bool> views; ///< whether something works with them
};

} // namespace

void splitStorage(const Graph &graph, Plan &plan,
                  llvm::ArrayRef<AxisRef> axes) {
  if (dist::numWays(axes) > 1)
    StorageSplitter(graph, plan, axes).run();
}

/// Splits over axes for storage alone, or over the others.
static OpPlan splitsOver(const OpPlan &op, bool areStorage) {
  OpPlan found;
  for (const LeafSplit &split : op.splits) {
    LeafSplit kept{split.leaf, {}, split.isZigZag};
    for (const AxisRef &axis : split.axes)
      if (dist::isStorageAxis(axis) == areStorage)
        kept.axes.push_back(axis);
    if (!kept.axes.empty())
      found.splits.push_back(std::move(kept));
  }
  return found;
}

std::optional<Sharding> storedSharding(const Graph &graph, const Plan &plan,
                                       unsigned number, unsigned operand) {
  const unsigned value = graph.ops[number].operandValues[operand];
  if (value == kNoValue || !graph.values[value].isLoadTime ||
      graph.values[value].producer == kNoValue)
    return std::nullopt;
  const unsigned producer = graph.values[value].producer;
  const OpPlan parts = splitsOver(plan.ops[producer], /*areStorage=*/true);
  if (parts.splits.empty() ||
      dist::isStoredInParts(operandSharding(graph, plan, number, operand)))
    return std::nullopt;
  // As the op wants it, but for its rows, and split as it is stored.
  OpPlan stored = splitsOver(plan.ops[number], /*areStorage=*/false);
  for (const LeafSplit &split : parts.splits)
    stored.split(split.leaf, split.axes);
  Sharding sharding = operandSharding(graph, stored, number, operand);
  // A dim that the op sums up and may not split is none of the weight's to it.
  const auto &results = graph.ops[producer].resultValues;
  const Sharding held = resultSharding(
      graph, parts, producer, llvm::find(results, value) - results.begin());
  for (auto [dim, heldDim] : llvm::zip(sharding.dims, held.dims))
    if (!dim.isSplit() && heldDim.isSplit())
      dim = heldDim;
  return sharding;
}

static unsigned userOf(const Graph &graph, unsigned op) {
  while (Kernels::isLoadTime(op, graph)) {
    const auto &users =
        graph.values[graph.ops[op].resultValues.front()].consumers;
    if (users.empty())
      break;
    op = users.front();
  }
  return op;
}

std::vector<StoredOperand> storedOperands(const Graph &graph,
                                          const Plan &plan) {
  std::vector<StoredOperand> found;
  for (unsigned op = 0; op < graph.ops.size(); ++op)
    for (unsigned i = 0; i < graph.ops[op].operandValues.size(); ++i)
      if (auto stored = storedSharding(graph, plan, op, i))
        found.push_back({op, i, userOf(graph, op), std::move(*stored)});
  return found;
}

std::vector<double> gatheredBytes(const Graph &graph, const Plan &plan,
                                  const Sizes &sizes,
                                  llvm::ArrayRef<StoredOperand> stored) {
  std::vector<double> bytes(graph.ops.size(), 0);
  for (const StoredOperand &each : stored) {
    const unsigned value = graph.ops[each.op].operandValues[each.operand];
    bytes[each.user] +=
        sizes.largestPart(operandSharding(graph, plan, each.op, each.operand)) *
        double(graph.values[value].bits) / 8;
  }
  return bytes;
}

double largestLayer(const Graph &graph, llvm::ArrayRef<double> bytes) {
  std::map<unsigned, double> layers;
  double largest = 0, largestOp = 0;
  for (auto [op, own] : llvm::enumerate(bytes)) {
    largestOp = std::max(largestOp, own);
    if (own > 0 && graph.ops[op].layer)
      largest = std::max(largest, layers[*graph.ops[op].layer] += own);
  }
  return layers.empty() ? largestOp : largest;
}

} // namespace shardc::plan
