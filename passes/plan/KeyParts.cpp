//===- KeyParts.cpp - Parts of the keys instead of copies -----------------===//

#include "passes/plan/KeyParts.h"

#include <numeric>

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

/// What splits the heads of the queries, but not those of the keys.
AxisList axesOfGroups(const Graph &graph, const GraphOp &op,
                      const OpPlan &decided) {
  AxisList axes;
  for (const LeafSplit &split : decided.splits)
    if (graph.space.holds(op.operands[kQuery][kHeads], split.leaf) &&
        !graph.space.holds(op.operands[kKey][kHeads], split.leaf))
      axes.append(split.axes);
  return axes;
}

/// Takes as many of the ways as parts divide into, of each axis the minor ones.
void takeWays(llvm::ArrayRef<dist::AxisRef> from, int64_t &parts,
              AxisList &taken) {
  for (const dist::AxisRef &axis : from) {
    const int64_t ways = std::gcd(axis.size, parts);
    if (ways == 1)
      continue;
    taken.push_back({axis.name, axis.pre * axis.size / ways, ways});
    parts /= ways;
  }
}

/// What is left of axes without the minor ways that were taken.
AxisList without(llvm::ArrayRef<dist::AxisRef> axes,
                 llvm::ArrayRef<dist::AxisRef> taken) {
  AxisList left;
  for (dist::AxisRef axis : axes) {
    for (const dist::AxisRef &part : taken)
      if (part.name == axis.name && part.pre >= axis.pre &&
          part.pre * part.size == axis.pre * axis.size)
        axis.size /= part.size;
    if (axis.size > 1)
      left.push_back(axis);
  }
  return left;
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
    OpPlan &own = plan.ops[number];
    int64_t left = graph.space.size(*parts).asConstant().value_or(1);
    AxisList axes;
    takeWays(context, left, axes);
    takeWays(axesOfGroups(graph, op, own), left, axes);
    if (axes.empty() || !mayHaveParts(graph, plan, *parts, axes))
      continue;
    for (LeafSplit &split : own.splits)
      split.axes = without(split.axes, axes);
    llvm::erase_if(own.splits,
                   [](const LeafSplit &split) { return split.axes.empty(); });
    for (unsigned other : graph.opsWith(*parts))
      if (other == number || !plan.ops[other].uses(axes))
        plan.ops[other].split(*parts, axes);
  }
}

} // namespace shardc::plan
