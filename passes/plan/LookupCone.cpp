//===- LookupCone.cpp - Embeddings and what is added to them --------------===//

#include "passes/plan/LookupCone.h"

#include "passes/plan/PlanSearch.h"

namespace shardc::plan {

using dist::AxisRef;
using onnx::FactorClass;

namespace {

class Cones {
public:
  Cones(const Graph &graph, Plan &plan, llvm::ArrayRef<AxisRef> axes)
      : graph(graph), plan(plan), axes(axes) {}

  void run() {
    for (unsigned op = 0; op < graph.ops.size(); ++op) {
      if (graph.ops[op].lookupMultiplyAdds == 0)
        continue;
      if (plan.ops[op].isDecided(axes))
        growPartial(op);
      else if (graph.ops[op].lookupMultiplyAdds > graph.meanProduct / 4)
        splitColumns(op);
    }
  }

private:
  /// The only consumer of an op's result, if that is what it has.
  std::optional<unsigned> onlyConsumer(unsigned op) const {
    const GraphValue &value = graph.values[graph.ops[op].resultValues[0]];
    if (value.isReturned || value.consumers.size() != 1 ||
        plan.ops[value.consumers.front()].isDecided(axes))
      return std::nullopt;
    return value.consumers.front();
  }

  bool passes(unsigned op, FactorNode leaf) const {
    const OpLeaf *found = graph.ops[op].find(leaf);
    return found && found->factorClass == FactorClass::PassThrough &&
           graph.ops[op].multiplyAdds == 0;
  }

  /// Splits the table's columns, and with them the whole cone.
  void splitColumns(unsigned lookup) {
    const std::optional<FactorNode> column = columnsOf(lookup);
    if (!column)
      return splitRows(lookup);
    assign(lookup, *column);
    for (auto op = onlyConsumer(lookup); op && passes(*op, *column);
         op = onlyConsumer(*op)) {
      assign(*op, *column);
      for (unsigned value : graph.ops[*op].operandValues)
        if (auto other = freeLookup(value); other && passes(*other, *column))
          assign(*other, *column);
    }
  }

  /// The factor of the table's columns that comes out most evenly, of equal ones the
  /// outermost: a rank's columns are next to each other then.
  std::optional<FactorNode> columnsOf(unsigned lookup) const {
    std::optional<FactorNode> column;
    double least = 2;
    auto look = [&](FactorNode leaf, bool isBuried) {
      const OpLeaf *found = isBuried ? nullptr : graph.ops[lookup].find(leaf);
      const double share =
          largestShare(graph.space.size(leaf), dist::numWays(axes));
      if (!found || found->factorClass != FactorClass::PassThrough ||
          share >= least)
        return;
      column = leaf;
      least = share;
    };
    for (FactorNode dim : graph.ops[lookup].operands[0])
      graph.space.forEachLeaf(dim, look);
    return column;
  }

  void splitRows(unsigned lookup) {
    if (auto rows = rowsOf(lookup)) {
      assign(lookup, *rows);
      growPartial(lookup);
    }
  }

  std::optional<FactorNode> rowsOf(unsigned lookup) const {
    for (const OpLeaf &leaf : graph.ops[lookup].leaves)
      if (leaf.factorClass == FactorClass::Lookup)
        return leaf.leaf;
    return std::nullopt;
  }

  /// Carries the partial sum of a lookup through additions; a lookup that is
  /// added becomes partial as well, anything else is added once.
  void growPartial(unsigned lookup) {
    bool isPartial =
        llvm::any_of(plan.ops[lookup].splits, [&](const LeafSplit &split) {
          return graph.ops[lookup].find(split.leaf)->factorClass ==
                 FactorClass::Lookup;
        });
    if (!isPartial)
      return;
    for (auto op = onlyConsumer(lookup);
         op && graph.ops[*op].partialRule == onnx::PartialRule::Additive;
         op = onlyConsumer(*op)) {
      plan.ops[*op].carried.append(axes.begin(), axes.end());
      for (unsigned value : graph.ops[*op].operandValues)
        if (auto other = freeLookup(value))
          if (auto rows = rowsOf(*other))
            assign(*other, *rows);
    }
  }

  /// The lookup that makes a value, if it is nobody else's.
  std::optional<unsigned> freeLookup(unsigned value) const {
    if (value == kNoValue || graph.values[value].producer == kNoValue)
      return std::nullopt;
    const unsigned producer = graph.values[value].producer;
    const bool isFree = graph.ops[producer].lookupMultiplyAdds > 0 &&
                        !plan.ops[producer].isDecided(axes) &&
                        graph.values[value].consumers.size() == 1;
    return isFree ? std::optional(producer) : std::nullopt;
  }

  void assign(unsigned op, FactorNode leaf) {
    plan.ops[op].split(leaf, axes);
    // The table itself follows, where it is a weight that nobody else splits.
    if (graph.ops[op].lookupMultiplyAdds == 0)
      return;
    const GraphValue &value = graph.values[graph.ops[op].operandValues[0]];
    if (value.producer != kNoValue &&
        !plan.ops[value.producer].isDecided(axes) &&
        graph.ops[value.producer].find(leaf) && value.consumers.size() == 1)
      plan.ops[value.producer].split(leaf, axes);
  }

  const Graph &graph;
  Plan &plan;
  llvm::ArrayRef<AxisRef> axes;
};

} // namespace

void growLookupCones(const Graph &graph, Plan &plan,
                     llvm::ArrayRef<AxisRef> axes) {
  Cones(graph, plan, axes).run();
}

} // namespace shardc::plan
