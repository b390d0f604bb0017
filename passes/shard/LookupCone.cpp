//===- LookupCone.cpp - Embeddings and what is added to them --------------===//

#include "passes/shard/LookupCone.h"

namespace shardc::shard {

using dist::AxisRef;
using onnx::FactorClass;

namespace {

class Cones {
public:
  Cones(ShardingGraph &graph, llvm::ArrayRef<AxisRef> axes)
      : graph(graph), axes(axes) {}

  void run() {
    for (unsigned number = 0; number < graph.ops.size(); ++number) {
      GraphOp &op = graph.ops[number];
      if (op.lookupMultiplyAdds == 0)
        continue;
      if (op.uses(axes))
        growPartial(op);
      else if (op.lookupMultiplyAdds > graph.meanProduct / 4)
        splitColumns(op);
    }
  }

private:
  /// The only consumer of an op's result, if that is what it has.
  GraphOp *onlyConsumer(const GraphOp &op) {
    const GraphValue &value = graph.values[op.resultValues[0]];
    if (value.isReturned || value.consumers.size() != 1)
      return nullptr;
    GraphOp &consumer = graph.ops[value.consumers.front()];
    return consumer.uses(axes) ? nullptr : &consumer;
  }

  static bool passes(const GraphOp &op, FactorNode leaf) {
    const OpLeaf *found = op.find(leaf);
    return found && found->factorClass == FactorClass::PassThrough &&
           op.multiplyAdds == 0;
  }

  /// Splits the table's columns, and with them the whole cone.
  void splitColumns(GraphOp &lookup) {
    std::optional<FactorNode> column;
    for (const OpLeaf &leaf : lookup.leaves)
      if (leaf.factorClass == FactorClass::PassThrough &&
          isInTable(lookup, leaf.leaf))
        column =
            leaf.leaf; // leaves that split columns are alike; the last will do
    if (!column)
      return splitRows(lookup);
    assign(lookup, *column);
    for (GraphOp *op = onlyConsumer(lookup); op && passes(*op, *column);
         op = onlyConsumer(*op)) {
      assign(*op, *column);
      for (unsigned value : op->operandValues)
        if (GraphOp *other = freeLookup(value);
            other && passes(*other, *column))
          assign(*other, *column);
    }
  }

  void splitRows(GraphOp &lookup) {
    for (const OpLeaf &leaf : lookup.leaves)
      if (leaf.factorClass == FactorClass::Lookup) {
        assign(lookup, leaf.leaf);
        growPartial(lookup);
        return;
      }
  }

  /// Carries the partial sum of a lookup through additions; a lookup that is
  /// added becomes partial as well, anything else is added once.
  void growPartial(GraphOp &lookup) {
    bool isPartial = llvm::any_of(lookup.splits, [&](const LeafSplit &split) {
      return lookup.find(split.leaf)->factorClass == FactorClass::Lookup;
    });
    if (!isPartial)
      return;
    for (GraphOp *op = onlyConsumer(lookup);
         op && op->partialRule == onnx::PartialRule::Additive;
         op = onlyConsumer(*op)) {
      op->carried.append(axes.begin(), axes.end());
      for (unsigned value : op->operandValues)
        if (GraphOp *other = freeLookup(value))
          for (const OpLeaf &leaf : other->leaves)
            if (leaf.factorClass == FactorClass::Lookup) {
              assign(*other, leaf.leaf);
              break;
            }
    }
  }

  /// The lookup that makes a value, if it is nobody else's.
  GraphOp *freeLookup(unsigned value) {
    if (value == kNoValue || graph.values[value].producer == kNoValue)
      return nullptr;
    GraphOp &producer = graph.ops[graph.values[value].producer];
    bool isFree = producer.lookupMultiplyAdds > 0 && !producer.uses(axes) &&
                  graph.values[value].consumers.size() == 1;
    return isFree ? &producer : nullptr;
  }

  bool isInTable(const GraphOp &lookup, FactorNode wanted) {
    return graph.space.holds(lookup.operands[0], wanted);
  }

  void assign(GraphOp &op, FactorNode leaf) {
    op.split(leaf, axes);
    // The table itself follows, where it is a weight that nobody else splits.
    if (op.lookupMultiplyAdds == 0)
      return;
    unsigned table = graph.values[op.operandValues[0]].producer;
    if (table == kNoValue)
      return;
    GraphOp &source = graph.ops[table];
    if (!source.uses(axes) && source.find(leaf) &&
        graph.values[op.operandValues[0]].consumers.size() == 1)
      source.split(leaf, axes);
  }

  ShardingGraph &graph;
  llvm::ArrayRef<AxisRef> axes;
};

} // namespace

void growLookupCones(ShardingGraph &graph, llvm::ArrayRef<AxisRef> axes) {
  Cones(graph, axes).run();
}

} // namespace shardc::shard
