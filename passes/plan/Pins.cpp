//===- Pins.cpp - Shardings that a user wants -----------------------------===//

#include "passes/plan/Pins.h"

#include "passes/plan/StoredWeights.h"

#include "llvm/ADT/MapVector.h"

namespace shardc::plan {

using dist::AxisRef;
using llvm::StringRef;
using onnx::FactorClass;

std::string parsePin(StringRef text, Pin &pin) {
  const std::string expected =
      ": expected NODE=SHARDING, for example lm_head=[{}, {tp}]";
  pin.text = text.str();
  const size_t bracket = text.rfind("=[");
  if (bracket == StringRef::npos || bracket == 0 || !text.ends_with("]"))
    return pin.text + expected;
  pin.node = text.take_front(bracket).str();
  StringRef rest = text.drop_front(bracket + 2).drop_back();
  while (!(rest = rest.ltrim(" ,")).empty()) {
    const size_t end = rest.find('}');
    if (!rest.consume_front("{") || end == StringRef::npos)
      return pin.text + expected;
    auto &axes = pin.axes.emplace_back();
    llvm::SmallVector<StringRef, 2> names;
    rest.take_front(end - 1).split(names, ',', -1, /*KeepEmpty=*/false);
    for (StringRef name : names)
      // "tp"=4 and tp are the same.
      axes.push_back(name.split('=').first.trim(" \"").str());
    rest = rest.drop_front(end);
  }
  return "";
}

void pinWhole(const Graph &graph, unsigned op, Plan &plan) {
  plan.ops[op].isPinned = true;
  // A weight that is whole is so where it is used.
  if (graph.ops[op].kind == OpKind::Weight)
    for (unsigned user :
         graph.values[graph.ops[op].resultValues.front()].consumers)
      plan.ops[user].isPinned = true;
}

void pinLeaf(const Graph &graph, FactorNode leaf, const AxisList &axes,
             Plan &plan) {
  for (unsigned op : graph.opsWith(leaf)) {
    const OpLeaf *known = graph.ops[op].find(leaf);
    if (known->factorClass != FactorClass::NeedsReplication &&
        plan.ops[op].mayTake(axes, leaf))
      plan.ops[op].split(leaf, axes);
  }
}

namespace {

/// A pin as it is of one op: axes by dim, without those of one way.
using PinnedAxes = std::vector<AxisList>;

std::string wholeText(size_t numDims) {
  std::string text;
  for (size_t dim = 0; dim < numDims; ++dim)
    text += dim == 0 ? "{}" : ", {}";
  return "[" + text + "]";
}

/// Of the first result of an op that has a pin. "" or what is wrong.
std::string axesOf(const Pin &pin, const GraphOp &op, const dist::Mesh &mesh,
                   PinnedAxes &axes) {
  const size_t rank = op.results.empty() ? 0 : op.results.front().size();
  if (pin.axes.size() != rank)
    return "the value has " + std::to_string(rank) + " dims, not " +
           std::to_string(pin.axes.size()) + "; whole it is " + pin.node + "=" +
           wholeText(rank);
  for (const std::vector<std::string> &names : pin.axes) {
    AxisList &ofDim = axes.emplace_back();
    for (const std::string &name : names) {
      std::string wrong;
      std::optional<AxisRef> axis = parseAxis(name, mesh, wrong);
      if (!axis)
        return wrong;
      if (axis->size > 1)
        ofDim.push_back(*axis);
    }
  }
  return "";
}

/// First what pins say of their own ops, then what follows for others, so that
/// their order says nothing.
class Pinner {
public:
  Pinner(const Graph &graph, const OpNames &names, const dist::Mesh &mesh,
         Plan &plan)
      : graph(graph), names(names), mesh(mesh), plan(plan) {}

  /// Whether the graph has such a node.
  bool decide(const Pin &pin) {
    bool isFound = false;
    for (unsigned op = 0; op < graph.ops.size(); ++op)
      if (names.nodes[op] == pin.node) {
        isFound = true;
        if (std::string wrong = decide(op, pin);
            !wrong.empty() && problem.empty())
          problem = pin.text + ": " + wrong;
      }
    return isFound;
  }

  void spread() {
    for (const auto &[number, pin] : decided)
      if (llvm::all_of(pin.axes,
                       [](const AxisList &dim) { return dim.empty(); }))
        pinWhole(graph, number, plan);
    for (const auto &[number, pin] : decided)
      if (graph.ops[number].kind == OpKind::Weight)
        settleUsers(number);
    for (const auto &[number, pin] : decided)
      for (const LeafSplit &split : plan.ops[number].splits)
        pinLeaf(graph, split.leaf, split.axes, plan);
  }

  std::string problem;

private:
  struct Decision {
    const Pin *pin;
    PinnedAxes axes;
  };

  /// Where a weight is used it is as the pin says, and nothing else splits it.
  void settleUsers(unsigned weight) {
    const GraphOp &op = graph.ops[weight];
    for (unsigned user : graph.values[op.resultValues.front()].consumers) {
      OpPlan &plan = this->plan.ops[user];
      for (FactorNode dim : op.results.front())
        graph.space.forEachLeaf(dim, [&](FactorNode leaf, bool) {
          const OpLeaf *known = graph.ops[user].find(leaf);
          if (!known || plan.isPinned)
            return;
          for (const LeafSplit &split : this->plan.ops[weight].splits)
            if (split.leaf == leaf && plan.mayTake(split.axes, leaf) &&
                known->factorClass != FactorClass::NeedsReplication)
              plan.split(leaf, split.axes);
          plan.settled.push_back(leaf);
        });
    }
  }

  std::string decide(unsigned number, const Pin &pin) {
    PinnedAxes axes;
    if (std::string wrong = axesOf(pin, graph.ops[number], mesh, axes);
        !wrong.empty())
      return wrong;
    auto [known, isNew] = decided.insert({number, {&pin, axes}});
    if (!isNew)
      return known->second.axes == axes
                 ? ""
                 : "contradicts " + known->second.pin->text +
                       "; leave one of them out";
    plan.ops[number].isPinned = true;
    for (auto [dim, ofDim] : llvm::enumerate(axes))
      if (!ofDim.empty())
        if (std::string wrong = splitDim(number, dim, ofDim); !wrong.empty())
          return wrong;
    return "";
  }

  std::string splitDim(unsigned number, size_t dim, const AxisList &axes) {
    const GraphOp &op = graph.ops[number];
    std::optional<FactorNode> leaf;
    graph.space.forEachLeaf(
        op.results.front()[dim], [&](FactorNode found, bool isBuried) {
          const OpLeaf *known = op.find(found);
          if (!leaf && !isBuried && known &&
              known->factorClass == FactorClass::PassThrough)
            leaf = found;
        });
    if (!leaf)
      return "dim " + std::to_string(dim) +
             " cannot be split there: the op needs all of it; " +
             howToSplit(graph, number);
    for (size_t i = 0; i < axes.size(); ++i)
      if (plan.ops[number].uses(axes[i]) ||
          dist::overlapsAny(llvm::ArrayRef(axes).take_front(i), axes[i]))
        return "an axis, or a part of it, splits the value twice; leave it out "
               "once";
    plan.ops[number].split(*leaf, axes);
    const std::string wrong =
        dist::findProblem(resultSharding(graph, plan, number, 0),
                          graph.values[op.resultValues.front()].sizes, mesh);
    return wrong.empty() ? "" : wrong + "; leave axes out";
  }

  const Graph &graph;
  const OpNames &names;
  const dist::Mesh &mesh;
  Plan &plan;
  llvm::MapVector<unsigned, Decision> decided; ///< by op
};

AxisList merged(const AxisList &axes, const dist::DimExpr &size) {
  dist::DimSharding dim = dist::DimSharding::whole(size, axes);
  dim.normalize();
  return AxisList(dim.axes());
}

/// Of an op, what splits its first result; of a weight, which is stored as it is
/// read, its shardings where it is used.
llvm::SmallVector<dist::Sharding, 1> heldOf(const Graph &graph,
                                            const Plan &plan, unsigned op) {
  llvm::SmallVector<dist::Sharding, 1> held;
  const unsigned value = graph.ops[op].resultValues.front();
  if (graph.ops[op].kind == OpKind::Weight)
    for (unsigned user : graph.values[value].consumers)
      for (auto [i, operand] : llvm::enumerate(graph.ops[user].operandValues))
        if (operand == value)
          held.push_back(storedSharding(graph, plan, user, i)
                             .value_or(operandSharding(graph, plan, user, i)));
  if (held.empty())
    held.push_back(resultSharding(graph, plan, op, 0));
  return held;
}

bool isSplitBy(dist::Sharding sharding, const PinnedAxes &axes) {
  return llvm::all_of(llvm::zip_equal(sharding.dims, axes),
                      [](auto dimAndAxes) {
                        auto &[dim, ofDim] = dimAndAxes;
                        dim.normalize();
                        return dim.axes() == merged(ofDim, dim.size());
                      });
}

} // namespace

std::string applyPins(llvm::ArrayRef<Pin> pins, const Graph &graph,
                      const OpNames &names, const dist::Mesh &mesh, Plan &plan,
                      std::vector<const Pin *> &unused) {
  Pinner pinner(graph, names, mesh, plan);
  for (const Pin &pin : pins)
    if (!pinner.decide(pin))
      unused.push_back(&pin);
  if (pinner.problem.empty())
    pinner.spread();
  return pinner.problem;
}

std::string findUnkept(llvm::ArrayRef<Pin> pins, const Graph &graph,
                       const OpNames &names, const dist::Mesh &mesh,
                       const Plan &plan) {
  for (const Pin &pin : pins)
    for (unsigned op = 0; op < graph.ops.size(); ++op) {
      PinnedAxes wanted;
      if (names.nodes[op] != pin.node ||
          !axesOf(pin, graph.ops[op], mesh, wanted).empty() || wanted.empty())
        continue;
      for (const dist::Sharding &held : heldOf(graph, plan, op))
        if (!isSplitBy(held, wanted))
          return pin.text + ": is not kept: " +
                 (graph.ops[op].kind == OpKind::Weight ? "where it is used "
                                                       : "") +
                 "it is " + held.str() +
                 ", by another pin or because an op needs it so; leave one of "
                 "them out";
    }
  return "";
}

} // namespace shardc::plan
