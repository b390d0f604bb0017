//===- PlanFile.cpp - A plan as JSON --------------------------------------===//

#include "passes/plan/PlanFile.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/raw_ostream.h"

#include <nlohmann/json.hpp>

#include <map>

using Json = nlohmann::json;

namespace shardc::plan {

using dist::AxisRef;
using llvm::StringRef;
using onnx::FactorClass;

namespace {

/// Where a leaf is: dim `dim` of operand or result `tensor`, of its leaves the
/// one of that number.
struct Place {
  bool isResult = false;
  size_t tensor = 0, dim = 0, factor = 0;
};

std::string tensorText(const Place &place) {
  return (place.isResult ? "result " : "operand ") +
         std::to_string(place.tensor);
}

/// Leaves of a dim, major first.
llvm::SmallVector<FactorNode, 4> leavesOf(const Graph &graph, FactorNode dim) {
  llvm::SmallVector<FactorNode, 4> leaves;
  graph.space.forEachLeaf(
      dim, [&](FactorNode leaf, bool) { leaves.push_back(leaf); });
  return leaves;
}

std::optional<Place> placeOf(const Graph &graph, const GraphOp &op,
                             FactorNode leaf) {
  for (bool isResult : {false, true})
    for (auto [tensor, dims] :
         llvm::enumerate(isResult ? op.results : op.operands))
      for (auto [d, dim] : llvm::enumerate(dims))
        for (auto [factor, found] : llvm::enumerate(leavesOf(graph, dim)))
          if (found == leaf)
            return Place{isResult, tensor, d, factor};
  return std::nullopt;
}

/// Whole axes by their names.
Json axesOf(llvm::ArrayRef<AxisRef> axes, const dist::Mesh &mesh) {
  Json list = Json::array();
  for (const AxisRef &axis : axes) {
    const bool isWhole = axis.size == mesh.sizeOf(axis.name);
    list.push_back(isWhole ? axis.name
                           : axis.name + ":(" + std::to_string(axis.pre) + ")" +
                                 std::to_string(axis.size));
  }
  return list;
}

/// Which of the ops of that node and operator each op is.
std::vector<size_t> indicesOf(const OpNames &names) {
  std::map<std::pair<StringRef, StringRef>, size_t> count;
  std::vector<size_t> indices;
  for (size_t op = 0; op < names.nodes.size(); ++op)
    indices.push_back(count[{names.nodes[op], names.operators[op]}]++);
  return indices;
}

} // namespace

Json writePlan(const Graph &graph, const Plan &plan, const OpNames &names,
               const dist::Mesh &mesh) {
  Json entries = Json::array();
  const std::vector<size_t> indices = indicesOf(names);
  for (size_t number = 0; number < plan.ops.size(); ++number) {
    const OpPlan &op = plan.ops[number];
    if (op.splits.empty() && op.carried.empty() && op.inTurn.empty())
      continue;
    Json entry = {{"node", names.nodes[number]},
                  {"op", names.operators[number]}};
    if (indices[number] > 0)
      entry["index"] = indices[number];
    for (const LeafSplit &split : op.splits)
      if (std::optional<Place> place =
              placeOf(graph, graph.ops[number], split.leaf)) {
        Json written = {{"of", tensorText(*place)},
                        {"dim", place->dim},
                        {"factor", place->factor},
                        {"size", graph.space.size(split.leaf).str()},
                        {"region", split.leaf},
                        {"axes", axesOf(split.axes, mesh)}};
        if (split.isZigZag)
          written["zig_zag"] = true;
        entry["splits"].push_back(std::move(written));
      }
    if (!op.carried.empty())
      entry["carries"] = axesOf(op.carried, mesh);
    if (!op.inTurn.empty())
      entry["in_turn"] = axesOf(op.inTurn, mesh);
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::optional<AxisRef> parseAxis(StringRef text, const dist::Mesh &mesh,
                                 std::string &problem) {
  const auto [name, sub] = text.split(':');
  const dist::Axis *axis = mesh.find(name);
  if (!axis) {
    std::string known;
    for (const dist::Axis &other : mesh.axes)
      known += " " + other.name;
    problem = ("there is no axis \"" + name +
               "\" that splits values; the mesh "
               "has" +
               known)
                  .str();
    return std::nullopt;
  }
  AxisRef ref{name.str(), 1, axis->size};
  if (sub.empty())
    return ref;
  auto [pre, size] = sub.split(')');
  if (!pre.consume_front("(") || pre.getAsInteger(10, ref.pre) ||
      size.getAsInteger(10, ref.size) || ref.pre < 1 || ref.size < 1 ||
      axis->size % ref.pre != 0 || axis->size / ref.pre % ref.size != 0) {
    problem = ("\"" + text + "\" is no part of \"" + name +
               "\" = " + llvm::Twine(axis->size) + ", expected \"" + name +
               ":(BEFORE)WAYS\"")
                  .str();
    return std::nullopt;
  }
  return ref;
}

std::string nearestNode(const OpNames &names, StringRef name) {
  std::string nearest;
  unsigned least = ~0u;
  for (const std::string &known : names.nodes) {
    if (known.empty())
      continue;
    const unsigned distance =
        name.edit_distance(known, /*AllowReplacements=*/true, least);
    if (distance < least) {
      least = distance;
      nearest = known;
    }
  }
  return nearest;
}

namespace {

class PlanReader {
public:
  PlanReader(const Graph &graph, const OpNames &names, const dist::Mesh &mesh,
             Plan &plan)
      : graph(graph), names(names), mesh(mesh), plan(plan) {
    const std::vector<size_t> indices = indicesOf(names);
    for (size_t op = 0; op < names.nodes.size(); ++op)
      numbers[{names.nodes[op], names.operators[op], indices[op]}] = op;
  }

  std::string run(const Json &entries) {
    if (!entries.is_array())
      return "expected a list of ops";
    for (const Json &entry : entries)
      if (readEntry(entry), !problem.empty())
        return problem;
    return "";
  }

private:
  void fail(const std::string &what) {
    problem = (node.empty() ? "" : node + ": ") + what;
  }

  static std::string textOf(const Json &entry, const char *key) {
    return entry.contains(key) && entry[key].is_string()
               ? entry[key].get<std::string>()
               : "";
  }
  static size_t numberOf(const Json &entry, const char *key) {
    return entry.contains(key) && entry[key].is_number_unsigned()
               ? entry[key].get<size_t>()
               : 0;
  }

  void readEntry(const Json &entry) {
    node.clear();
    if (!entry.is_object() || textOf(entry, "node").empty())
      return fail("expected ops with a \"node\"");
    node = textOf(entry, "node");
    auto known =
        numbers.find({node, textOf(entry, "op"), numberOf(entry, "index")});
    if (known == numbers.end())
      return fail("the model has no such " + textOf(entry, "op") +
                  " node; the nearest one is " + nearestNode(names, node));
    OpPlan &op = plan.ops[known->second];
    for (const Json &split : entry.value("splits", Json::array()))
      if (readSplit(split, graph.ops[known->second], op), !problem.empty())
        return;
    op.carried = readAxes(entry, "carries");
    op.inTurn = readAxes(entry, "in_turn");
    const bool isAttention = graph.ops[known->second].kind == OpKind::Attention;
    if (!op.inTurn.empty() && (!isAttention || !op.uses(op.inTurn)))
      fail("\"in_turn\" is for an attention whose queries these axes split");
  }

  AxisList readAxes(const Json &entry, const char *key) {
    AxisList axes;
    if (!entry.contains(key))
      return axes;
    if (!entry[key].is_array())
      fail(std::string("\"") + key + "\" is no list of axes");
    for (const Json &axis : entry[key]) {
      std::string wrong = "expected names of axes";
      std::optional<AxisRef> ref;
      if (axis.is_string())
        ref = parseAxis(axis.get<std::string>(), mesh, wrong);
      if (ref && dist::overlapsAny(axes, *ref))
        fail("\"" + std::string(key) + "\" has an axis twice");
      else if (ref)
        axes.push_back(*ref);
      else
        fail(wrong);
    }
    return axes;
  }

  void readSplit(const Json &split, const GraphOp &op, OpPlan &plan) {
    if (!split.is_object())
      return fail("expected splits with \"of\", \"dim\" and \"axes\"");
    auto [side, index] = StringRef(textOf(split, "of")).split(' ');
    size_t tensor = 0;
    const bool isResult = side == "result";
    if ((!isResult && side != "operand") || index.getAsInteger(10, tensor))
      return fail("\"of\" is \"" + textOf(split, "of") +
                  "\", expected \"operand 0\" or \"result 0\"");
    const auto &tensors = isResult ? op.results : op.operands;
    const size_t dim = numberOf(split, "dim"),
                 factor = numberOf(split, "factor");
    if (tensor >= tensors.size() || dim >= tensors[tensor].size())
      return fail("it has no dim " + std::to_string(dim) + " of " +
                  textOf(split, "of"));
    const auto leaves = leavesOf(graph, tensors[tensor][dim]);
    if (factor >= leaves.size())
      return fail("dim " + std::to_string(dim) + " of " + textOf(split, "of") +
                  " has " + std::to_string(leaves.size()) + " factors");
    const FactorNode leaf = leaves[factor];
    const std::string size = graph.space.size(leaf).str();
    if (split.contains("size") && textOf(split, "size") != size)
      return fail("the factor has " + size + " elements, not " +
                  textOf(split, "size") + ": the plan is one of another model");
    const OpLeaf *found = op.find(leaf);
    if (!found || found->factorClass == FactorClass::NeedsReplication)
      return fail("needs all of dim " + std::to_string(dim) + " of " +
                  textOf(split, "of") + ": it cannot be split there");
    const AxisList axes = readAxes(split, "axes");
    if (axes.empty() && problem.empty())
      return fail("a split has no \"axes\"");
    if (plan.uses(axes))
      return fail("an axis splits it twice");
    const Json zigZag = split.value("zig_zag", Json(false));
    if (!zigZag.is_boolean())
      return fail("\"zig_zag\" is no truth value");
    plan.splits.push_back({leaf, axes, zigZag.get<bool>()});
  }

  const Graph &graph;
  const OpNames &names;
  const dist::Mesh &mesh;
  Plan &plan;
  std::map<std::tuple<std::string, std::string, size_t>, size_t> numbers;
  std::string node, problem;
};

} // namespace

std::string readPlan(const Json &entries, const Graph &graph,
                     const OpNames &names, const dist::Mesh &mesh, Plan &plan) {
  return PlanReader(graph, names, mesh, plan).run(entries);
}

} // namespace shardc::plan
