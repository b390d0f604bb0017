//===- Annotations.cpp - Shardings that a model's file asks for -----------===//

#include "passes/plan/Annotations.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

#include <nlohmann/json.hpp>

#include <numeric>

using Json = nlohmann::json;

namespace shardc::plan {

using dist::AxisRef;
using dist::DimExpr;
using llvm::StringRef;
using onnx::FactorClass;

namespace {

/// A factor of a dim as the file says it.
struct Part {
  DimExpr size = 1;
  AxisList axes;
};

/// What one tensor says of a leaf.
struct Claim {
  AxisList axes; ///< empty: it is whole
  std::string tensor;
  int64_t dim = 0;
  bool isResult = false;
};

/// A leaf of a dim, with the number of elements of the dim, within its segment,
/// that it and what is minor to it count.
struct PlacedLeaf {
  FactorNode leaf;
  DimExpr extent;
};

class Annotator {
public:
  Annotator(const Graph &graph, const OpNames &names, const OpTensors &tensors,
            const dist::Mesh &mesh, bool isDecode, Plan &plan)
      : graph(graph), names(names), tensors(tensors), mesh(mesh),
        isDecode(isDecode), plan(plan), claims(graph.ops.size()) {
    for (unsigned op = 0; op < graph.ops.size(); ++op) {
      opsOf[names.nodes[op]].push_back(op);
      for (const std::string &tensor : tensors.results[op])
        if (!tensor.empty())
          producers[tensor].push_back(op);
    }
  }

  std::string run(const Json &entries) {
    for (const Json &entry : entries) {
      node = entry.value("node", "");
      for (const Json &spec : entry.value("specs", Json::array()))
        if (readSpec(entry, spec), !problem.empty())
          return problem;
    }
    for (unsigned op = 0; op < graph.ops.size(); ++op)
      if (decide(op), !problem.empty())
        return problem;
    takeAlong();
    return "";
  }

private:
  void fail(const std::string &what) {
    if (problem.empty())
      problem = node + ": " + what;
  }

  //===--- Reading --------------------------------------------------------===//

  void readSpec(const Json &entry, const Json &spec) {
    const std::string tensor = spec.value("tensor", "");
    bool isFound = false;
    for (unsigned op : opsOf.lookup(node)) {
      isFound |= claimAll(op, /*areResults=*/false, spec, tensor);
      isFound |= claimAll(op, /*areResults=*/true, spec, tensor);
    }
    // The node has become part of others, one of which makes its output.
    const Json outputs = entry.value("outputs", Json::array());
    if (!isFound && llvm::is_contained(outputs, Json(tensor)))
      for (unsigned op : producers.lookup(tensor))
        claimAll(op, /*areResults=*/true, spec, tensor);
  }

  bool claimAll(unsigned op, bool areResults, const Json &spec,
                const std::string &tensor) {
    const auto &own = areResults ? tensors.results[op] : tensors.operands[op];
    const auto &dims =
        areResults ? graph.ops[op].results : graph.ops[op].operands;
    bool isFound = false;
    for (size_t i = 0; i < own.size() && i < dims.size(); ++i)
      if (own[i] == tensor) {
        isFound = true;
        claim(op, areResults, dims[i], spec, tensor);
      }
    return isFound;
  }

  void claim(unsigned op, bool isResult, const DimNodes &dims, const Json &spec,
             const std::string &tensor) {
    if (dims.empty() || plan.ops[op].isPinned)
      return;
    std::vector<std::vector<Part>> parts(dims.size());
    for (const Json &entry : spec.value("dims", Json::array())) {
      const int64_t rank = dims.size(), given = entry.value("dim", int64_t(0));
      const int64_t dim = given < 0 ? given + rank : given;
      if (dim < 0 || dim >= rank)
        return fail("its annotation splits dim " + std::to_string(given) +
                    " of \"" + tensor + "\", which has " +
                    std::to_string(rank) + " dims");
      if (readParts(entry, parts[dim]), !problem.empty())
        return;
    }
    for (size_t d = 0; d < dims.size(); ++d)
      claimDim(op, dims[d], parts[d], {{}, tensor, int64_t(d), isResult});
  }

  void readParts(const Json &entry, std::vector<Part> &parts) {
    const Json given = entry.value("parts", Json::array());
    for (const Json &from : given) {
      Part &part = parts.emplace_back();
      const std::string size = from.value("size", "");
      // The size of a whole dim is known without it.
      if (given.size() > 1) {
        std::optional<DimExpr> parsed = dist::parseDimExpr(size);
        if (!parsed)
          return fail(
              "its annotation has several simple_sharding of a dim, and "
              "\"" +
              size + "\" is no size of a factor; say dim_value of each");
        part.size = *parsed;
      }
      for (const Json &name : from.value("axes", Json::array())) {
        std::string wrong;
        std::optional<AxisRef> axis =
            parseAxis(name.get<std::string>(), mesh, wrong);
        if (!axis)
          return fail(wrong);
        part.axes.push_back(*axis);
      }
    }
  }

  //===--- From parts of dims to leaves -----------------------------------===//

  /// `what` is the tensor's dim.
  void claimDim(unsigned op, FactorNode dim, llvm::ArrayRef<Part> parts,
                const Claim &what) {
    llvm::MapVector<FactorNode, AxisList> split;
    const auto segments = graph.space.segments(dim);
    DimExpr rest = 1;
    for (const Part &part : llvm::reverse(parts)) {
      rest = part.size * rest;
      if (part.axes.empty())
        continue;
      // A dim that is whole at the first of several parts is of packed segments.
      bool isPlaced = false;
      for (FactorNode segment : segments)
        isPlaced |= parts.size() == 1 ? splitFirst(op, segment, part, split)
                                      : splitAt(segment, rest, part, split);
      if (!isPlaced)
        return fail("its annotation splits " + text(what) +
                    " at a factor that it does not have, of " +
                    part.size.str() + "; say one num_shards for the whole dim");
    }
    graph.space.forEachLeaf(dim, [&](FactorNode leaf, bool isBuried) {
      auto known = split.find(leaf);
      if (known != split.end() && isBuried)
        fail("its annotation splits " + text(what) +
             ", which is packed in a way that cannot be split; leave that dim "
             "whole");
      Claim claim = what;
      const bool isDropped = isDecode && !isOfMatrix(leaf);
      if (known != split.end() && !isDropped)
        claim.axes = known->second;
      claims[op][leaf].push_back(std::move(claim));
    });
  }

  /// Those in front of what is packed within the segment, and those behind it.
  llvm::SmallVector<PlacedLeaf, 4> leavesOf(FactorNode segment) const {
    llvm::SmallVector<PlacedLeaf, 4> leaves, behind;
    std::optional<DimExpr> extent = graph.space.size(segment);
    DimExpr rest = 1;
    graph.space.forEachLeaf(segment, [&](FactorNode leaf, bool isBuried) {
      const DimExpr size = graph.space.size(leaf);
      if (isBuried) {
        extent.reset();
        behind.clear();
      } else if (extent) {
        leaves.push_back({leaf, *extent});
        extent = extent->exactDiv(size);
      } else {
        behind.push_back({leaf, size});
      }
    });
    for (PlacedLeaf &placed : llvm::reverse(behind))
      placed.extent = rest = rest * placed.extent;
    leaves.append(behind);
    return leaves;
  }

  /// The factor of which one begins where the part does.
  bool splitAt(FactorNode segment, DimExpr extent, const Part &part,
               llvm::MapVector<FactorNode, AxisList> &split) const {
    for (const PlacedLeaf &placed : leavesOf(segment))
      if (placed.extent == extent) {
        split[placed.leaf] = part.axes;
        return true;
      }
    return false;
  }

  /// A whole dim over all these axes: its major factor, and where that has fewer
  /// elements than there are ways, those behind it over what is left.
  bool splitFirst(unsigned op, FactorNode segment, const Part &part,
                  llvm::MapVector<FactorNode, AxisList> &split) const {
    AxisList rest = part.axes;
    std::optional<FactorNode> first;
    llvm::MapVector<FactorNode, AxisList> found;
    for (const PlacedLeaf &placed : leavesOf(segment)) {
      const OpLeaf *known = graph.ops[op].find(placed.leaf);
      if (!known || known->factorClass == FactorClass::NeedsReplication)
        break;
      first = first.value_or(placed.leaf);
      const std::optional<int64_t> size =
          graph.space.size(placed.leaf).asConstant();
      const int64_t ways = dist::numWays(rest);
      const int64_t here =
          !size || *size >= ways ? ways : std::gcd(*size, ways);
      auto cut = dist::cutWays(rest, here);
      if (!cut || here == 1)
        break;
      found[placed.leaf] = AxisList(cut->first);
      rest = AxisList(cut->second);
      if (rest.empty())
        break;
    }
    if (!first) // what is wrong is said of the dim's major factor
      first = leavesOf(segment).empty()
                  ? first
                  : std::optional(leavesOf(segment).front().leaf);
    if (!first)
      return false;
    if (!rest.empty()) {
      found.clear();
      found[*first] = part.axes;
    }
    for (auto &[leaf, axes] : found)
      split[leaf] = axes;
    return true;
  }

  //===--- From claims to splits ------------------------------------------===//

  static std::string text(const Claim &claim) {
    return "dim " + std::to_string(claim.dim) + " of \"" + claim.tensor + "\"";
  }

  /// Of the claims of operands, or of results, on a leaf the one that splits it,
  /// if there is one.
  const Claim *splitting(llvm::ArrayRef<Claim> all, bool areResults) {
    const Claim *found = nullptr;
    for (const Claim &claim : all) {
      if (claim.axes.empty() || claim.isResult != areResults)
        continue;
      if (found && found->axes != claim.axes) {
        fail("its annotation splits " + text(*found) + " and " + text(claim) +
             " over devices in different ways, and they are the same dim "
             "there; give both the same devices and num_shards, or leave one "
             "out");
        return nullptr;
      }
      found = &claim;
    }
    return found;
  }

  void decide(unsigned number) {
    const GraphOp &op = graph.ops[number];
    OpPlan &decided = plan.ops[number];
    node = names.nodes[number];
    llvm::SmallVector<const Claim *, 2> done;
    for (bool areResults : {false, true})
      for (const auto &[leaf, all] : claims[number])
        if (const Claim *claim = splitting(all, areResults))
          decideLeaf(number, leaf, *claim, done);
    const bool isWhole = llvm::all_of(op.leaves, [&](const OpLeaf &leaf) {
      return claims[number].count(leaf.leaf);
    });
    decided.isPinned |= isWhole && !claims[number].empty();
    for (const auto &[leaf, all] : claims[number])
      decided.settled.push_back(leaf);
  }

  void decideLeaf(unsigned number, FactorNode leaf, const Claim &claim,
                  llvm::SmallVector<const Claim *, 2> &done) {
    const OpLeaf *known = graph.ops[number].find(leaf);
    for (const Claim *other : done)
      for (const AxisRef &axis : claim.axes)
        if (dist::overlapsAny(other->axes, axis)) {
          // The same dim, or how the result is dealt out afterwards.
          if (claim.isResult)
            return;
          return fail("its annotation splits both " + text(*other) + " and " +
                      text(claim) +
                      " over the same devices; leave one of them whole");
        }
    if (!known || known->factorClass == FactorClass::NeedsReplication)
      return fail("its annotation splits " + text(claim) +
                  ", all of which the op needs; leave that dim whole there");
    done.push_back(&claim);
    plan.ops[number].split(leaf, claim.axes);
  }

  /// Of the model's matrices, whose sizes are numbers.
  bool isOfMatrix(FactorNode leaf) const {
    return graph.weightLeaves.contains(leaf) &&
           graph.space.size(leaf).asConstant();
  }

  /// Factors of which an op says nothing go as other ops say.
  void takeAlong() {
    for (unsigned number = 0; number < graph.ops.size(); ++number) {
      const llvm::SmallVector<LeafSplit, 1> splits = plan.ops[number].splits;
      for (const LeafSplit &split : splits) {
        if (!claims[number].count(split.leaf) || !isOfMatrix(split.leaf) ||
            !isSplitWhereverAnnotated(split.leaf))
          continue;
        for (unsigned other : graph.opsWith(split.leaf)) {
          OpPlan &op = plan.ops[other];
          const OpLeaf *known = graph.ops[other].find(split.leaf);
          if (known->factorClass != FactorClass::NeedsReplication &&
              !claims[other].count(split.leaf) && !op.isPinned &&
              !op.uses(split.axes))
            op.split(split.leaf, split.axes);
        }
      }
    }
    for (unsigned number = 0; number < graph.ops.size(); ++number)
      if (graph.ops[number].kind == OpKind::Weight)
        cutAsUsed(number);
  }

  /// A weight is cut as the first op that says something of it has it.
  void cutAsUsed(unsigned number) {
    const GraphOp &op = graph.ops[number];
    for (unsigned user : graph.values[op.resultValues.front()].consumers)
      for (const LeafSplit &split : plan.ops[user].splits)
        if (claims[user].count(split.leaf) && op.find(split.leaf) &&
            isOfMatrix(split.leaf) && !plan.ops[number].isPinned &&
            !plan.ops[number].uses(split.axes))
          plan.ops[number].split(split.leaf, split.axes);
  }

  bool isSplitWhereverAnnotated(FactorNode leaf) {
    auto [known, isNew] = splitEverywhere.try_emplace(leaf, true);
    auto isSplit = [&](const OpPlan &op) {
      return llvm::any_of(op.splits, [&](const LeafSplit &split) {
        return split.leaf == leaf;
      });
    };
    if (isNew)
      for (unsigned op : graph.opsWith(leaf))
        if (claims[op].count(leaf) && !isSplit(plan.ops[op]))
          return splitEverywhere[leaf] = false;
    return splitEverywhere[leaf];
  }

  const Graph &graph;
  const OpNames &names;
  const OpTensors &tensors;
  const dist::Mesh &mesh;
  const bool isDecode;
  Plan &plan;
  llvm::StringMap<llvm::SmallVector<unsigned, 1>> opsOf, producers;
  std::vector<llvm::MapVector<FactorNode, llvm::SmallVector<Claim, 2>>> claims;
  llvm::DenseMap<FactorNode, bool> splitEverywhere;
  std::string node, problem;
};

} // namespace

std::string applyAnnotations(const Json &entries, const Graph &graph,
                             const OpNames &names, const OpTensors &tensors,
                             const dist::Mesh &mesh, bool isDecode,
                             Plan &plan) {
  return Annotator(graph, names, tensors, mesh, isDecode, plan).run(entries);
}

} // namespace shardc::plan
