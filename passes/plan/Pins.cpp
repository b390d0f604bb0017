//===- Pins.cpp - Shardings that a user wants -----------------------------===//

#include "passes/plan/Pins.h"

#include "llvm/ADT/SmallSet.h"

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
        !plan.ops[op].isPinned && !plan.ops[op].uses(axes))
      plan.ops[op].split(leaf, axes);
  }
}

namespace {

class Pinner {
public:
  Pinner(const Graph &graph, const OpNames &names, const dist::Mesh &mesh,
         Plan &plan)
      : graph(graph), names(names), mesh(mesh), plan(plan) {}

  /// Whether the graph has such a node.
  bool apply(const Pin &pin) {
    bool isFound = false;
    for (unsigned op = 0; op < graph.ops.size(); ++op)
      if (names.nodes[op] == pin.node) {
        isFound = true;
        applyTo(op, pin);
      }
    return isFound;
  }

  std::string problem;

private:
  void fail(const Pin &pin, const std::string &what) {
    if (problem.empty())
      problem = pin.text + ": " + what;
  }

  static std::string wholeText(size_t numDims) {
    std::string text;
    for (size_t dim = 0; dim < numDims; ++dim)
      text += dim == 0 ? "{}" : ", {}";
    return "[" + text + "]";
  }

  void applyTo(unsigned number, const Pin &pin) {
    const GraphOp &op = graph.ops[number];
    const DimNodes &dims = op.results.front();
    if (pin.axes.size() != dims.size())
      return fail(pin, "the value has " + std::to_string(dims.size()) +
                           " dims, not " + std::to_string(pin.axes.size()) +
                           "; whole it is " + pin.node + "=" +
                           wholeText(dims.size()));
    bool isWhole = true;
    for (auto [dim, names] : llvm::enumerate(pin.axes)) {
      AxisList axes;
      for (const std::string &name : names) {
        std::string wrong;
        std::optional<AxisRef> axis = parseAxis(name, mesh, wrong);
        if (!axis)
          return fail(pin, wrong);
        axes.push_back(*axis);
      }
      if (axes.empty() || dist::numWays(axes) == 1)
        continue;
      isWhole = false;
      splitDim(number, dim, axes, pin);
    }
    if (isWhole)
      pinWhole(graph, number, plan);
    plan.ops[number].isPinned = true;
  }

  void splitDim(unsigned number, size_t dim, const AxisList &axes,
                const Pin &pin) {
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
      return fail(pin, "dim " + std::to_string(dim) +
                           " cannot be split there: the op needs all of it; " +
                           howToSplit(graph, number));
    pinLeaf(graph, *leaf, axes, plan);
    if (!plan.ops[number].uses(axes))
      return fail(pin,
                  "these axes, or parts of them, split it already, by this "
                  "pin or another one; leave one of them out");
    const std::string wrong =
        dist::findProblem(resultSharding(graph, plan, number, 0),
                          graph.values[op.resultValues.front()].sizes, mesh);
    if (!wrong.empty())
      fail(pin, wrong + ", by this pin or with another one; leave one of them "
                        "out");
  }

  const Graph &graph;
  const OpNames &names;
  const dist::Mesh &mesh;
  Plan &plan;
};

} // namespace

std::string applyPins(llvm::ArrayRef<Pin> pins, const Graph &graph,
                      const OpNames &names, const dist::Mesh &mesh, Plan &plan,
                      std::vector<const Pin *> &unused) {
  Pinner pinner(graph, names, mesh, plan);
  for (const Pin &pin : pins)
    if (!pinner.apply(pin))
      unused.push_back(&pin);
  return pinner.problem;
}

} // namespace shardc::plan
