//===- PlanSearch.cpp - Which factors an axis splits ----------------------===//

#include "passes/plan/PlanSearch.h"

#include "passes/plan/IndependentSet.h"
#include "passes/plan/LookupCone.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/EquivalenceClasses.h"

#include <numeric>

namespace shardc::plan {

using dist::AxisRef;
using onnx::FactorClass;

double largestShare(dist::DimExpr size, int64_t ways) {
  std::optional<int64_t> n = size.asConstant();
  if (!n || *n <= 0)
    return 1.0 / ways;
  return static_cast<double>((*n + ways - 1) / ways) / *n;
}

double timesItsShare(int64_t size, llvm::ArrayRef<AxisRef> axes,
                     const dist::Mesh &mesh) {
  const llvm::SmallVector<int64_t> bounds = dist::boundsOf(axes, mesh);
  double most = size > 0 ? 0 : 1;
  for (size_t way = 0; way + 1 < bounds.size() && size > 0; ++way) {
    const int64_t begin = bounds[way] * size / bounds.back(),
                  end = bounds[way + 1] * size / bounds.back();
    most = std::max(most, double(end - begin) * double(bounds.back()) /
                              double(bounds[way + 1] - bounds[way]) /
                              double(size));
  }
  return most;
}

void forEachMatrixLeaf(const Graph &graph, LeafRole role,
                       llvm::function_ref<void(FactorNode)> visit) {
  llvm::DenseSet<FactorNode> seen;
  for (const GraphOp &op : graph.ops) {
    if (!op.usesWeight)
      continue;
    for (unsigned i : op.matrices)
      for (FactorNode dim : op.operands[i])
        graph.space.forEachLeaf(dim, [&](FactorNode leaf, bool isBuried) {
          const OpLeaf *found = op.find(leaf);
          const bool isExperts = found && found->isExperts;
          if (!isBuried && graph.weightLeaves.contains(leaf) &&
              isExperts == (role == LeafRole::Experts) &&
              seen.insert(leaf).second)
            visit(leaf);
        });
  }
}

namespace {

/// What the collective of a single element counts, beside one of a tensor.
constexpr double kScalar = 0.1;

/// A region: the ops that these splits reach, and what they buy.
struct Candidate {
  llvm::SmallVector<LeafSplit, 2> splits;
  llvm::SmallVector<unsigned, 16> ops;
  double gain = 0;    ///< multiply-adds of products that are split
  double largest = 0; ///< of them, the largest
  double saved = 0;   ///< multiply-adds that the busiest rank is spared
  double collectives = 0;

  /// Where sums stay whole each product has a collective to itself.
  double price(const Graph &graph) const {
    return collectives *
           ((graph.keepsSumsWhole ? 0 : largest) + graph.meanProduct / 4);
  }
  bool pays(const Graph &graph) const {
    return gain > 0 && (collectives == 0 || gain > price(graph));
  }
  double score(const Graph &graph) const {
    return saved - collectives * graph.meanProduct / 4;
  }
};

class Search {
public:
  Search(const Graph &graph, Plan &plan, llvm::ArrayRef<AxisRef> axes,
         LeafRole role)
      : graph(graph), plan(plan), axes(axes), role(role) {}

  void run() {
    std::vector<Candidate> candidates;
    forEachMatrixLeaf(graph, role, [&](FactorNode leaf) {
      if (std::optional<Candidate> best = bestSplit(leaf))
        candidates.push_back(std::move(*best));
    });
    llvm::stable_sort(candidates, [&](const Candidate &a, const Candidate &b) {
      return a.score(graph) > b.score(graph);
    });
    for (auto [candidate, isChosen] : llvm::zip(candidates, choose(candidates)))
      if (isChosen)
        accept(candidate);
    if (role == LeafRole::Others)
      growLookupCones(graph, plan, axes);
  }

private:
  /// All ways on `leaf`; or, where that has fewer elements, gcd ways on it and
  /// the rest on the factor that follows it: 4 KV heads and their groups of 2
  /// query heads over 8 ways.
  std::optional<Candidate> bestSplit(FactorNode leaf) {
    std::optional<Candidate> best;
    auto consider = [&](llvm::SmallVector<LeafSplit, 2> splits) {
      Candidate candidate = evaluate(std::move(splits));
      if (candidate.pays(graph) &&
          (!best || candidate.score(graph) > best->score(graph)))
        best = std::move(candidate);
    };
    consider({{leaf, AxisList(axes)}});
    std::optional<int64_t> size = graph.space.size(leaf).asConstant();
    const int64_t ways = dist::numWays(axes);
    if (!size || *size >= ways)
      return best;
    auto parts = dist::cutWays(axes, std::gcd(*size, ways));
    if (!parts)
      return best;
    for (FactorNode neighbour : minorNeighbours(leaf)) {
      llvm::SmallVector<LeafSplit, 2> splits;
      if (!parts->first.empty())
        splits.push_back({leaf, parts->first});
      splits.push_back({neighbour, parts->second});
      consider(std::move(splits));
    }
    return best;
  }

  llvm::SmallVector<FactorNode, 2> minorNeighbours(FactorNode leaf) {
    llvm::SmallVector<FactorNode, 2> found;
    for (unsigned number : graph.opsWith(leaf))
      for (const DimNodes &dims : graph.ops[number].results)
        for (FactorNode dim : dims)
          if (auto next = graph.space.minorNeighbour(dim, leaf))
            if (!llvm::is_contained(found, *next))
              found.push_back(*next);
    return found;
  }

  Candidate evaluate(llvm::SmallVector<LeafSplit, 2> splits) {
    Candidate candidate;
    for (const LeafSplit &split : splits) {
      for (unsigned op : graph.opsWith(split.leaf))
        if (takes(op, split.leaf))
          candidate.ops.push_back(op);
    }
    llvm::sort(candidate.ops);
    candidate.ops.erase(llvm::unique(candidate.ops), candidate.ops.end());
    candidate.splits = std::move(splits);
    if (graph.keepsSumsWhole)
      dropIdle(candidate);
    for (unsigned op : candidate.ops)
      weigh(graph.ops[op], candidate);
    return candidate;
  }

  /// A leaf that is whole at each sum falls into parts. One without a product,
  /// such as a reshape between a norm and its matrix, would be split and gathered
  /// for nothing.
  void dropIdle(Candidate &candidate) {
    llvm::EquivalenceClasses<unsigned> parts;
    llvm::DenseSet<unsigned> busy;
    for (unsigned op : candidate.ops)
      parts.insert(op);
    for (unsigned op : candidate.ops)
      for (unsigned value : graph.ops[op].resultValues)
        if (llvm::any_of(candidate.splits, [&](const LeafSplit &split) {
              return graph.space.holds(graph.values[value].dims, split.leaf);
            }))
          for (unsigned consumer : graph.values[value].consumers)
            if (llvm::binary_search(candidate.ops, consumer))
              parts.unionSets(op, consumer);
    for (unsigned op : candidate.ops)
      if (graph.ops[op].usesWeight || graph.ops[op].lookupMultiplyAdds > 0)
        busy.insert(parts.getLeaderValue(op));
    llvm::erase_if(candidate.ops, [&](unsigned op) {
      return !busy.contains(parts.getLeaderValue(op));
    });
  }

  /// What a candidate splits of an op, what the busiest rank keeps of it, and
  /// the largest of the products that the op is. One of three packed segments,
  /// halved: a third is reached, 5 / 6 are kept, a third is the largest. All
  /// three of them: q, k and v in one matrix are three products as much as in
  /// three, so that both ways of writing them get the same plan.
  struct Part {
    double reached = 1, kept = 1, largest = 1;
  };

  Part partOf(const GraphOp &op, const Candidate &candidate) {
    Part part;
    for (const auto *tensors : {&op.operands, &op.results})
      for (const DimNodes &dims : *tensors)
        for (FactorNode dim : dims) {
          Part here = partOfDim(dim, candidate);
          if (here.reached == 0)
            continue;
          part.reached = std::min(part.reached, here.reached);
          part.kept = std::min(part.kept, here.kept);
          part.largest = std::min(part.largest, here.largest);
        }
    return part;
  }

  Part partOfDim(FactorNode dim, const Candidate &candidate) {
    Part part{0, 0, 0};
    double total = std::max(1.0, graph.evaluate(graph.space.size(dim)));
    for (FactorNode segment : graph.space.segments(dim)) {
      double size = graph.evaluate(graph.space.size(segment)) / total;
      double share = 1;
      graph.space.forEachLeaf(segment, [&](FactorNode leaf, bool) {
        for (const LeafSplit &split : candidate.splits)
          if (split.leaf == leaf)
            share *=
                largestShare(graph.space.size(leaf), dist::numWays(split.axes));
      });
      part.kept += size * share;
      if (share >= 1)
        continue;
      part.reached += size;
      part.largest = std::max(part.largest, size);
    }
    return part;
  }

  bool takes(unsigned op, FactorNode leaf) const {
    const OpLeaf *found = graph.ops[op].find(leaf);
    return found && found->factorClass != FactorClass::NeedsReplication &&
           plan.ops[op].mayTake(axes, leaf);
  }

  void weigh(const GraphOp &op, Candidate &candidate) {
    bool isPartial = false;
    for (const LeafSplit &split : candidate.splits)
      if (const OpLeaf *leaf = op.find(split.leaf))
        isPartial |= leaf->factorClass == FactorClass::Reduce ||
                     leaf->factorClass == FactorClass::Lookup;
    Part part = partOf(op, candidate);
    double product =
        (op.usesWeight ? op.multiplyAdds : 0) + op.lookupMultiplyAdds;
    candidate.gain += product * part.reached * op.count;
    // An op may hold several products: experts two.
    double single = product / std::max<size_t>(1, op.matrices.size());
    candidate.largest = std::max(candidate.largest, single * part.largest);
    candidate.saved += product * (1 - part.kept) * op.count;
    if (isPartial) {
      candidate.collectives +=
          op.count * (isScalar(graph.values[op.resultValues[0]]) ? kScalar : 1);
      return;
    }
    for (unsigned value : op.resultValues)
      candidate.collectives +=
          op.count * mustBecomeWhole(graph.values[value], candidate);
  }

  /// A sum or maximum of all elements: its collective moves next to nothing.
  static bool isScalar(const GraphValue &value) {
    return llvm::all_of(value.sizes,
                        [](dist::DimExpr size) { return size.isConstant(1); });
  }

  /// True if the value is split but somebody needs it whole. What moves weights
  /// about is done once at load, per use.
  bool mustBecomeWhole(const GraphValue &value, const Candidate &candidate) {
    if (value.isWeightDerived && value.isLoadTime)
      return false;
    for (const LeafSplit &split : candidate.splits) {
      if (!graph.space.holds(value.dims, split.leaf))
        continue;
      for (unsigned consumer : value.consumers)
        if (!takes(consumer, split.leaf))
          return true;
    }
    return false;
  }

  /// The candidates that save most together; no op is in two of them.
  std::vector<bool> choose(llvm::ArrayRef<Candidate> candidates) const {
    Rivals rivals;
    rivals.rivals.resize(candidates.size());
    std::vector<llvm::SmallVector<unsigned, 4>> ofOp(graph.ops.size());
    for (auto [number, candidate] : llvm::enumerate(candidates)) {
      // What pays is split, even where it spares the busiest rank little.
      rivals.weights.push_back(
          std::max(candidate.score(graph), 1e-6 * graph.meanProduct));
      auto &others = rivals.rivals[number];
      for (unsigned op : candidate.ops) {
        if (movesOnly(op))
          continue;
        others.insert(others.end(), ofOp[op].begin(), ofOp[op].end());
        ofOp[op].push_back(number);
      }
      llvm::sort(others);
      others.erase(llvm::unique(others), others.end());
      for (unsigned other : others)
        rivals.rivals[other].push_back(number);
    }
    return heaviestSet(rivals).isChosen;
  }

  /// Where sums stay whole, an LM head and the embedding that has its table want
  /// different parts of that: each gets its own when it is loaded.
  bool movesOnly(unsigned op) const {
    return graph.keepsSumsWhole &&
           llvm::all_of(graph.ops[op].resultValues, [&](unsigned value) {
             return graph.values[value].isWeightDerived &&
                    graph.values[value].isLoadTime;
           });
  }

  void accept(const Candidate &candidate) {
    for (unsigned op : candidate.ops) {
      llvm::SmallVector<const LeafSplit *, 2> taken;
      for (const LeafSplit &split : candidate.splits)
        if (takes(op, split.leaf))
          taken.push_back(&split);
      for (const LeafSplit *split : taken)
        plan.ops[op].split(split->leaf, split->axes);
    }
  }

  const Graph &graph;
  Plan &plan;
  llvm::ArrayRef<AxisRef> axes;
  LeafRole role;
};

} // namespace

void searchPlan(const Graph &graph, Plan &plan, llvm::ArrayRef<AxisRef> axes,
                LeafRole role) {
  if (dist::numWays(axes) > 1)
    Search(graph, plan, axes, role).run();
}

} // namespace shardc::plan
