//===- KeyParts.cpp - Parts of the keys instead of copies -----------------===//

#include "passes/plan/KeyParts.h"

namespace shardc::plan {

namespace {

constexpr unsigned kQuery = 0, kKey = 1;    ///< operands
constexpr unsigned kHeads = 1, kPlaces = 2; ///< dims of each

/// The factor of the keys' places that is a dim of what is seen.
std::optional<FactorNode> partsOf(const Graph &graph, const GraphOp &op) {
  if (op.kind != OpKind::Attention || op.operands.size() <= kKey ||
      op.operands[kKey].size() <= kPlaces || op.results[0].empty())
    return std::nullopt;
  std::optional<FactorNode> parts;
  graph.space.forEachLeaf(op.results[0][0], [&](FactorNode leaf, bool) {
    if (graph.space.holds(op.operands[kKey][kPlaces], leaf))
      parts = leaf;
  });
  return parts;
}

/// With what splits the heads of the queries, but not those of the keys.
AxisList withAxesOfGroups(llvm::ArrayRef<dist::AxisRef> context,
                          const Graph &graph, const GraphOp &op,
                          const OpPlan &decided) {
  AxisList axes(context);
  for (const LeafSplit &split : decided.splits)
    if (graph.space.holds(op.operands[kQuery][kHeads], split.leaf) &&
        !graph.space.holds(op.operands[kKey][kHeads], split.leaf))
      axes.append(split.axes);
  return axes;
}

/// A pool that another attention reads as well may have its parts already.
bool hasParts(const OpPlan &decided, FactorNode parts,
              llvm::ArrayRef<dist::AxisRef> axes) {
  return llvm::any_of(decided.splits, [&](const LeafSplit &split) {
    return split.leaf == parts && llvm::ArrayRef(split.axes) == axes;
  });
}

/// Whether all that holds such keys may have a part of them.
bool mayHaveParts(const Graph &graph, const Plan &plan, FactorNode parts,
                  llvm::ArrayRef<dist::AxisRef> axes) {
  return llvm::all_of(graph.opsWith(parts), [&](unsigned op) {
    const OpLeaf *leaf = graph.ops[op].find(parts);
    return leaf && leaf->factorClass == onnx::FactorClass::PassThrough &&
           (graph.ops[op].kind == OpKind::Attention
                ? !plan.ops[op].isPinned
                : hasParts(plan.ops[op], parts, axes) ||
                      plan.ops[op].mayTake(axes, parts));
  });
}

} // namespace

void splitKeyParts(const Graph &graph, Plan &plan,
                   llvm::ArrayRef<dist::AxisRef> context) {
  for (unsigned number = 0; number < graph.ops.size(); ++number) {
    const GraphOp &op = graph.ops[number];
    const std::optional<FactorNode> parts = partsOf(graph, op);
    if (!parts)
      continue;
    const auto areAsMany = [&](const AxisList &axes) {
      return graph.space.size(*parts).isConstant(dist::numWays(axes));
    };
    AxisList axes = withAxesOfGroups(context, graph, op, plan.ops[number]);
    // With fewer groups than copies there are parts for the context alone.
    if (!areAsMany(axes))
      axes.assign(context.begin(), context.end());
    if (axes.empty() || !areAsMany(axes) ||
        !mayHaveParts(graph, plan, *parts, axes))
      continue;
    llvm::erase_if(plan.ops[number].splits, [&](const LeafSplit &split) {
      return llvm::any_of(split.axes, [&](const dist::AxisRef &axis) {
        return llvm::is_contained(axes, axis);
      });
    });
    for (unsigned other : graph.opsWith(*parts))
      if (other == number || !plan.ops[other].uses(axes))
        plan.ops[other].split(*parts, axes);
  }
}

} // namespace shardc::plan
