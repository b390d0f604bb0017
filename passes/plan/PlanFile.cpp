//===- PlanFile.cpp - A plan as JSON --------------------------------------===//

#include "passes/plan/PlanFile.h"

#include "passes/plan/PlanEntry.h"

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

constexpr EntryKey kOpKeys[] = {
    {"node", EntryKey::Kind::Text, true}, {"op", EntryKey::Kind::Text, true},
    {"index", EntryKey::Kind::Number},    {"splits", EntryKey::Kind::List},
    {"carries", EntryKey::Kind::List},    {"in_turn", EntryKey::Kind::List}};
constexpr EntryKey kSplitKeys[] = {
    {"of", EntryKey::Kind::Text, true}, {"dim", EntryKey::Kind::Number, true},
    {"factor", EntryKey::Kind::Number}, {"size", EntryKey::Kind::Text},
    {"region", EntryKey::Kind::Number}, {"axes", EntryKey::Kind::List, true},
    {"zig_zag", EntryKey::Kind::Truth}};

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

/// Of one axis, as parseAxis reads it.
std::string textOf(const AxisRef &axis, const dist::Mesh &mesh) {
  return axis.size == mesh.sizeOf(axis.name)
             ? axis.name
             : axis.name + ":(" + std::to_string(axis.pre) + ")" +
                   std::to_string(axis.size);
}

/// Whole axes by their names.
Json axesOf(llvm::ArrayRef<AxisRef> axes, const dist::Mesh &mesh) {
  Json list = Json::array();
  for (const AxisRef &axis : axes)
    list.push_back(textOf(axis, mesh));
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

/// "dim 1 of operand 0", and which factor of it where it has several.
std::string dimText(const Graph &graph, const GraphOp &op, const Place &place) {
  const auto &tensors = place.isResult ? op.results : op.operands;
  const std::string dim =
      "dim " + std::to_string(place.dim) + " of " + tensorText(place);
  return leavesOf(graph, tensors[place.tensor][place.dim]).size() == 1
             ? dim
             : "factor " + std::to_string(place.factor) + " of " + dim;
}

/// The part of that axis which is most like one that it does not have.
std::string nearestPart(const dist::Axis &axis, const AxisRef &part,
                        const dist::Mesh &mesh) {
  AxisRef nearest{axis.name, 1, axis.size};
  auto distance = [&](int64_t pre, int64_t size) {
    return std::abs(pre - part.pre) + std::abs(size - part.size);
  };
  for (int64_t pre = 1; pre < axis.size; ++pre)
    for (int64_t size = 2; pre * size <= axis.size; ++size)
      if (axis.size % (pre * size) == 0 &&
          distance(pre, size) < distance(nearest.pre, nearest.size))
        nearest = {axis.name, pre, size};
  return textOf(nearest, mesh);
}

} // namespace

std::string howToSplit(const Graph &graph, unsigned number) {
  const GraphOp &op = graph.ops[number];
  std::string text;
  for (const OpLeaf &leaf : op.leaves)
    if (leaf.factorClass != FactorClass::NeedsReplication)
      if (std::optional<Place> place = placeOf(graph, op, leaf.leaf))
        text += (text.empty() ? "" : ", ") + dimText(graph, op, *place) + " (" +
                graph.space.size(leaf.leaf).str() + ")";
  return text.empty() ? "nothing can split it"
                      : "it can be split along " + text;
}

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
               ":(BEFORE)WAYS\"; the nearest one is \"" +
               nearestPart(*axis, ref, mesh) + "\"")
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

  /// Of an entry that was checked.
  static size_t numberOf(const Json &entry, const char *key) {
    return entry.value(key, size_t(0));
  }

  void readEntry(const Json &entry) {
    node =
        entry.is_object() && entry.contains("node") && entry["node"].is_string()
            ? entry["node"].get<std::string>()
            : "";
    if (std::string wrong = checkEntry(entry, kOpKeys); !wrong.empty())
      return fail(wrong);
    const std::string kind = entry["op"];
    auto known = numbers.find({node, kind, numberOf(entry, "index")});
    if (known == numbers.end())
      return fail("the model has no such " + kind +
                  " node; the nearest one is " + nearestNode(names, node));
    number = known->second;
    OpPlan &op = plan.ops[number];
    if (!isRead.insert(number).second)
      return fail("is there twice; put all \"splits\" into one of them");
    for (const Json &split : entry.value("splits", Json::array()))
      if (readSplit(split, op), !problem.empty())
        return;
    readCarried(entry, op);
    op.inTurn = readAxes(entry, "in_turn");
    const bool isAttention = graph.ops[number].kind == OpKind::Attention;
    if (!op.inTurn.empty() && (!isAttention || !op.uses(op.inTurn)))
      fail("\"in_turn\" is for an attention whose queries these axes split");
  }

  void readCarried(const Json &entry, OpPlan &op) {
    const AxisList carried = readAxes(entry, "carries");
    for (const AxisRef &axis : carried)
      if (op.uses(axis))
        return fail("\"carries\" has \"" + textOf(axis, mesh) + "\", which " +
                    whatHas(axis, op) + " has; leave one of them out");
    const onnx::PartialRule rule = graph.ops[number].partialRule;
    if (!carried.empty() && (rule == onnx::PartialRule::None ||
                             rule == onnx::PartialRule::Branches ||
                             rule == onnx::PartialRule::KeepsMax ||
                             rule == onnx::PartialRule::KeepsMin))
      return fail("\"carries\": the parts of a sum are no parts of what the op "
                  "makes of it; leave it out");
    op.carried = carried;
  }

  /// The split of an op that has that axis, or a part of it.
  std::string whatHas(const AxisRef &axis, const OpPlan &op) const {
    for (const LeafSplit &split : op.splits)
      if (dist::overlapsAny(split.axes, axis))
        if (auto place = placeOf(graph, graph.ops[number], split.leaf))
          return dimText(graph, graph.ops[number], *place);
    return "another split";
  }

  AxisList readAxes(const Json &entry, const char *key) {
    AxisList axes;
    for (const Json &axis : entry.value(key, Json::array())) {
      std::string wrong = "expected names of axes";
      std::optional<AxisRef> ref;
      if (axis.is_string())
        ref = parseAxis(axis.get<std::string>(), mesh, wrong);
      if (ref && ref->size == 1)
        continue; // splits nothing
      if (ref && dist::overlapsAny(axes, *ref))
        fail("\"" + std::string(key) + "\" has an axis twice");
      else if (ref)
        axes.push_back(*ref);
      else
        fail(wrong);
    }
    return axes;
  }

  /// Whether each dim that has this leaf is it.
  bool isOneFactorOfDims(const GraphOp &op, FactorNode leaf) const {
    for (const auto *tensors : {&op.operands, &op.results})
      for (const DimNodes &dims : *tensors)
        for (FactorNode dim : dims)
          if (const auto leaves = leavesOf(graph, dim);
              leaves.size() > 1 && llvm::is_contained(leaves, leaf))
            return false;
    return true;
  }

  /// A split that is none of the op's, with those that are.
  void failToSplit(const std::string &what) {
    fail(what + "; " + howToSplit(graph, number));
  }

  void readSplit(const Json &split, OpPlan &plan) {
    const GraphOp &op = graph.ops[number];
    if (std::string wrong = checkEntry(split, kSplitKeys); !wrong.empty())
      return fail("a split " + wrong);
    const std::string of = split["of"];
    const auto [side, index] = StringRef(of).split(' ');
    size_t tensor = 0;
    const bool isResult = side == "result";
    if ((!isResult && side != "operand") || index.getAsInteger(10, tensor))
      return fail("\"of\" is \"" + of +
                  "\", expected \"operand 0\" or \"result 0\"");
    const auto &tensors = isResult ? op.results : op.operands;
    const size_t dim = numberOf(split, "dim"),
                 factor = numberOf(split, "factor");
    if (tensor >= tensors.size() || dim >= tensors[tensor].size())
      return failToSplit("it has no dim " + std::to_string(dim) + " of " + of);
    const auto leaves = leavesOf(graph, tensors[tensor][dim]);
    if (factor >= leaves.size())
      return failToSplit("dim " + std::to_string(dim) + " of " + of + " has " +
                         std::to_string(leaves.size()) + " factors");
    const FactorNode leaf = leaves[factor];
    const std::string size = graph.space.size(leaf).str();
    if (const std::string said = split.value("size", size); said != size)
      return fail("the factor has " + size + " elements, not " + said +
                  ": the plan is one of another model");
    const OpLeaf *found = op.find(leaf);
    if (!found || found->factorClass == FactorClass::NeedsReplication)
      return failToSplit("needs all of dim " + std::to_string(dim) + " of " +
                         of + ": it cannot be split there");
    if (split["axes"].empty())
      return fail("a split has no \"axes\"");
    const AxisList axes = readAxes(split, "axes");
    if (axes.empty())
      return; // of one way each: it is whole
    for (const AxisRef &axis : axes)
      if (plan.uses(axis))
        return fail("an axis splits it twice: \"" + textOf(axis, mesh) +
                    "\" is to split " +
                    dimText(graph, op, {isResult, tensor, dim, factor}) +
                    ", and " + whatHas(axis, plan) +
                    " has it; leave one of them out");
    for (const LeafSplit &known : plan.splits)
      if (known.leaf == leaf)
        return fail(dimText(graph, op, {isResult, tensor, dim, factor}) +
                    " is split twice; list all \"axes\" in one split");
    const bool isZigZag = split.value("zig_zag", false);
    if (isZigZag && !isOneFactorOfDims(op, leaf))
      return fail(
          dimText(graph, op, {isResult, tensor, dim, factor}) +
          " stands beside other factors in a dim: only a dim of its own "
          "can be dealt out; leave \"zig_zag\" out");
    plan.splits.push_back({leaf, axes, isZigZag});
  }

  const Graph &graph;
  const OpNames &names;
  const dist::Mesh &mesh;
  Plan &plan;
  std::map<std::tuple<std::string, std::string, size_t>, size_t> numbers;
  llvm::DenseSet<size_t> isRead;
  size_t number = 0; ///< of the op that is read
  std::string node, problem;
};

} // namespace

std::string readPlan(const Json &entries, const Graph &graph,
                     const OpNames &names, const dist::Mesh &mesh, Plan &plan) {
  return PlanReader(graph, names, mesh, plan).run(entries);
}

} // namespace shardc::plan
