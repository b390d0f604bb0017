//===- Plan.cpp - What is decided about a program -------------------------===//

#include "passes/plan/Plan.h"

namespace shardc::plan {

using dist::AxisRef;
using dist::Sharding;
using llvm::ArrayRef;
using onnx::FactorClass;

bool OpPlan::uses(ArrayRef<AxisRef> axes) const {
  auto isUsed = [&](const AxisRef &used) {
    return dist::overlapsAny(axes, used);
  };
  return llvm::any_of(carried, isUsed) ||
         llvm::any_of(splits, [&](const LeafSplit &split) {
           return llvm::any_of(split.axes, isUsed);
         });
}

void OpPlan::split(FactorNode leaf, ArrayRef<AxisRef> axes) {
  for (LeafSplit &known : splits)
    if (known.leaf == leaf)
      return void(known.axes.append(axes.begin(), axes.end()));
  splits.push_back({leaf, AxisList(axes)});
}

/// Of a value whose dims an op sees as these.
static Sharding shardingOf(const Graph &graph, const OpPlan &op,
                           const DimNodes &dims, unsigned value) {
  if (value == kNoValue)
    return {};
  Sharding sharding = Sharding::replicated(graph.values[value].sizes);
  for (auto [d, node] : llvm::enumerate(dims)) {
    dist::DimSharding dim =
        graph.space.sharding(node, [&](FactorNode leaf) -> ArrayRef<AxisRef> {
          for (const LeafSplit &split : op.splits)
            if (split.leaf == leaf)
              return split.axes;
          return {};
        });
    for (const LeafSplit &split : op.splits)
      if (split.isZigZag && graph.space.find(node) == split.leaf)
        dim = dist::DimSharding::zigZag(graph.space.size(node), split.axes);
    // A broadcast dim has a node of its own, of size 1.
    if (dim.isSplit())
      sharding.dims[d] = dim;
  }
  for (const AxisRef &axis : op.carried)
    sharding.partial.push_back({axis, dist::ReduceKind::Sum});
  return sharding;
}

Sharding operandSharding(const Graph &graph, const OpPlan &plan,
                         unsigned number, unsigned i) {
  const GraphOp &op = graph.ops[number];
  Sharding wanted =
      shardingOf(graph, plan, op.operands[i], op.operandValues[i]);
  switch (op.partialRule) {
  case onnx::PartialRule::Affine:
    // The addend is partial exactly where the product is.
    if (i == 2)
      wanted.partial = resultSharding(graph, plan, number, 0).partial;
    break;
  case onnx::PartialRule::Additive:
  case onnx::PartialRule::MovesAll:
    break;
  default:
    if (i > 0)
      wanted.partial.clear();
    break;
  }
  wanted.normalize();
  return wanted;
}

Sharding resultSharding(const Graph &graph, const OpPlan &plan, unsigned number,
                        unsigned i) {
  const GraphOp &op = graph.ops[number];
  Sharding given = shardingOf(graph, plan, op.results[i], op.resultValues[i]);
  for (const LeafSplit &split : plan.splits) {
    const OpLeaf *leaf = op.find(split.leaf);
    if (leaf->factorClass != FactorClass::Reduce &&
        leaf->factorClass != FactorClass::Lookup)
      continue;
    for (const AxisRef &axis : split.axes)
      given.partial.push_back({axis, leaf->reduceKind});
  }
  given.normalize();
  return given;
}

Sharding producedSharding(const Graph &graph, const Plan &plan,
                          unsigned number) {
  const GraphValue &value = graph.values[number];
  if (value.producer == kNoValue)
    return Sharding::replicated(value.sizes);
  const GraphOp &producer = graph.ops[value.producer];
  return resultSharding(graph, plan, value.producer,
                        llvm::find(producer.resultValues, number) -
                            producer.resultValues.begin());
}

} // namespace shardc::plan
