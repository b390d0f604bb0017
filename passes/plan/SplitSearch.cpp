//===- SplitSearch.cpp - Splits of weights that a predicted time decides --===//

#include "passes/plan/SplitSearch.h"

#include "passes/plan/Pins.h"
#include "passes/plan/PlanSearch.h"

#include "llvm/ADT/MapVector.h"

#include <map>

namespace shardc::plan {

using dist::AxisRef;
using llvm::ArrayRef;

/// Predictions that differ by less say nothing.
static constexpr double kLeastGain = 0.01;

void applyChoices(const Graph &graph, ArrayRef<LeafChoice> choices,
                  Plan &plan) {
  for (const LeafChoice &choice : choices)
    for (FactorNode leaf : choice.leaves)
      if (!choice.axes.empty())
        pinLeaf(graph, leaf, choice.axes, plan);
      else
        for (unsigned op : graph.opsWith(leaf))
          plan.ops[op].settled.push_back(leaf);
}

/// All of them, and the first and the last ways.
static std::vector<AxisList> partsOf(ArrayRef<AxisRef> axes) {
  std::vector<AxisList> parts{AxisList(axes)};
  const int64_t ways = dist::numWays(axes);
  for (int64_t major = 2; major < ways; ++major)
    if (ways % major == 0)
      if (auto cut = dist::cutWays(axes, major)) {
        parts.push_back(cut->first);
        parts.push_back(cut->second);
      }
  return parts;
}

/// Equal for leaves that are alike.
static auto likenessOf(const Graph &graph, FactorNode leaf) {
  using Place =
      std::tuple<OpKind, onnx::PartialRule, onnx::FactorClass, size_t, double>;
  std::vector<Place> places;
  for (unsigned number : graph.opsWith(leaf)) {
    const GraphOp &op = graph.ops[number];
    places.emplace_back(op.kind, op.partialRule, op.find(leaf)->factorClass,
                        op.operandValues.size(), op.multiplyAdds);
  }
  return std::pair(graph.space.size(leaf).opaque(), std::move(places));
}

std::vector<std::vector<LeafChoice>>
findChoices(const Graph &graph, ArrayRef<AxisRef> axes, bool areTogether) {
  llvm::MapVector<unsigned, llvm::SmallVector<FactorNode, 4>> alike;
  std::map<decltype(likenessOf(graph, 0)), unsigned> classes;
  forEachMatrixLeaf(graph, LeafRole::Others, [&](FactorNode leaf) {
    const unsigned next = alike.size();
    alike[areTogether
              ? classes.try_emplace(likenessOf(graph, leaf), next).first->second
              : next]
        .push_back(leaf);
  });
  const std::vector<AxisList> parts = partsOf(axes);
  std::vector<std::vector<LeafChoice>> choices;
  for (const auto &[number, leaves] : alike) {
    std::vector<LeafChoice> own{{leaves, {}}};
    const std::optional<int64_t> size =
        graph.space.size(leaves.front()).asConstant();
    for (const AxisList &part : parts)
      if (!size || *size >= dist::numWays(part))
        own.push_back({leaves, part});
    if (own.size() > 1)
      choices.push_back(std::move(own));
  }
  return choices;
}

namespace {

class Searcher {
public:
  Searcher(const SplitProblem &problem, unsigned budget)
      : problem(problem), budget(budget) {}

  SplitSolution run() {
    solution.before = solution.after = priceOf({});
    othersBefore = problem.others({});
    for (bool areTogether : {false, true}) {
      choices = findChoices(problem.graph, problem.axes, areTogether);
      if (numAssignments() < budget) {
        tryAll();
        solution.isExact = !areTogether;
        return finish();
      }
    }
    improve();
    return finish();
  }

private:
  SplitSolution finish() {
    solution.leastSeconds = solution.after.seconds;
    if (!solution.isExact)
      solution.leastSeconds = std::min(solution.leastSeconds, leastWork());
    return std::move(solution);
  }

  double leastWork() const {
    std::vector<LeafChoice> whole;
    for (const auto &own : choices)
      whole.push_back({own.front().leaves, {}});
    return problem.least(whole);
  }

  /// Saturated.
  size_t numAssignments() const {
    size_t number = 1;
    for (const auto &own : choices)
      number = std::min<size_t>(number * own.size(), budget + 1);
    return number;
  }

  bool isSpent() const { return solution.numTried >= budget; }

  PlanPrice priceOf(ArrayRef<LeafChoice> chosen) {
    ++solution.numTried;
    return problem.price(chosen);
  }

  void consider(ArrayRef<LeafChoice> chosen) {
    const PlanPrice price = priceOf(chosen);
    const bool isAllowed =
        price.weightBytes <= solution.before.weightBytes * (1 + 1e-9) &&
        price.cacheBytes <= solution.before.cacheBytes * (1 + 1e-9);
    const double least = solution.choices.empty() ? 1 - kLeastGain : 1 - 1e-9;
    if (!isAllowed || price.seconds >= solution.after.seconds * least ||
        problem.others(chosen) > othersBefore * (1 + 1e-9))
      return;
    solution.after = price;
    solution.choices = chosen.vec();
  }

  void tryAll() {
    std::vector<size_t> digits(choices.size(), 0);
    while (true) {
      std::vector<LeafChoice> chosen;
      for (auto [own, digit] : llvm::zip(choices, digits))
        chosen.push_back(own[digit]);
      consider(chosen);
      size_t place = 0;
      while (place < digits.size() && ++digits[place] == choices[place].size())
        digits[place++] = 0;
      if (place == digits.size())
        return;
    }
  }

  /// From what is best, another choice of one leaf, or of two of one matrix. Pairs
  /// come last: there are few of them where single ones leave a budget.
  void improve() {
    bool isBetter = true;
    while (isBetter && !isSpent()) {
      const double seconds = solution.after.seconds;
      const std::vector<LeafChoice> best = solution.choices;
      for (const auto &own : choices)
        for (const LeafChoice &one : own) {
          if (isSpent())
            return;
          tryWith(best, {one});
          tryAcross(one);
        }
      tryPairs(best);
      isBetter = solution.after.seconds < seconds;
    }
  }

  void tryPairs(ArrayRef<LeafChoice> best) {
    for (size_t first = 0; first < choices.size(); ++first)
      for (const LeafChoice &one : choices[first])
        for (size_t second = first + 1; second < choices.size(); ++second)
          for (const LeafChoice &other : choices[second]) {
            if (isSpent())
              return;
            if (complement(one, other))
              tryWith(best, {one, other});
          }
  }

  /// That over its part of the axes, and everything else over the rest of them.
  void tryAcross(const LeafChoice &one) {
    std::vector<LeafChoice> chosen{one};
    for (const auto &own : choices)
      for (const LeafChoice &other : own)
        if (other.leaves != one.leaves && complement(one, other))
          chosen.push_back(other);
    if (chosen.size() > 2)
      tryWith({}, chosen);
  }

  /// Whether two leaves share out all of the axes between them.
  bool complement(const LeafChoice &one, const LeafChoice &other) const {
    const int64_t ways = dist::numWays(problem.axes);
    return !one.axes.empty() && !other.axes.empty() &&
           dist::numWays(one.axes) * dist::numWays(other.axes) == ways &&
           llvm::none_of(one.axes, [&](const AxisRef &axis) {
             return dist::overlapsAny(other.axes, axis);
           });
  }

  void tryWith(ArrayRef<LeafChoice> best, ArrayRef<LeafChoice> changed) {
    if (isSpent())
      return;
    std::vector<LeafChoice> chosen(changed);
    for (const LeafChoice &kept : best)
      if (llvm::none_of(changed, [&](const LeafChoice &choice) {
            return choice.leaves == kept.leaves;
          }))
        chosen.push_back(kept);
    consider(chosen);
  }

  const SplitProblem &problem;
  const unsigned budget;
  std::vector<std::vector<LeafChoice>> choices;
  SplitSolution solution;
  double othersBefore = 0; ///< seconds
};

} // namespace

SplitSolution searchSplits(const SplitProblem &problem, unsigned budget) {
  return Searcher(problem, budget).run();
}

} // namespace shardc::plan
