//===- IndependentSet.cpp - The heaviest choices that exclude no other ----===//

#include "passes/plan/IndependentSet.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <set>

namespace shardc::plan {

namespace {

/// A sum that is heavier by less is as heavy.
constexpr double kTie = 1e-9;

/// Of what excludes each other.
constexpr double kImpossible = -1e300;

using Scope = std::vector<unsigned>; ///< sorted

/// By which of these choices are made: bit i is that of scope[i].
struct Table {
  Scope scope;
  std::vector<double> values;

  /// Of the bits of a larger scope.
  double at(const Scope &larger, size_t bits) const {
    size_t own = 0;
    for (size_t i = 0; i < scope.size(); ++i) {
      const size_t place =
          std::lower_bound(larger.begin(), larger.end(), scope[i]) -
          larger.begin();
      own |= (bits >> place & 1) << i;
    }
    return values[own];
  }
};

/// Tables and rivals of one choice that are eliminated together.
struct Bucket {
  Scope scope; ///< without the choice itself
  Scope rivals;
  std::vector<const Table *> tables;

  bool takes(const Scope &more, size_t maxWidth) {
    Scope all;
    std::set_union(scope.begin(), scope.end(), more.begin(), more.end(),
                   std::back_inserter(all));
    if (all.size() > maxWidth && !scope.empty())
      return false;
    scope = std::move(all);
    return true;
  }
};

class Elimination {
public:
  Elimination(const Rivals &given, size_t maxWidth)
      : weights(given.weights), rivals(given.rivals), maxWidth(maxWidth),
        neighbours(rivals.size()), tablesOf(rivals.size()),
        gains(rivals.size()), isOpen(rivals.size(), true) {
    for (size_t v = 0; v < rivals.size(); ++v)
      neighbours[v].insert(rivals[v].begin(), rivals[v].end());
  }

  IndependentSet run() {
    std::set<std::pair<size_t, unsigned>> byDegree;
    for (unsigned v = 0; v < weights.size(); ++v)
      byDegree.insert({neighbours[v].size(), v});
    std::vector<unsigned> order;
    while (!byDegree.empty()) {
      const unsigned v = byDegree.begin()->second;
      const std::set<unsigned> touched = neighbours[v];
      byDegree.erase(byDegree.begin());
      for (unsigned u : touched)
        byDegree.erase({neighbours[u].size(), u});
      eliminate(v);
      for (unsigned u : touched)
        byDegree.insert({neighbours[u].size(), u});
      order.push_back(v);
    }
    return {decide(order), 0, bound};
  }

private:
  std::vector<Bucket> bucketsOf(unsigned v) const {
    std::vector<Bucket> buckets;
    auto bucketFor = [&](const Scope &scope) -> Bucket & {
      for (Bucket &bucket : buckets)
        if (bucket.takes(scope, maxWidth))
          return bucket;
      buckets.emplace_back().takes(scope, maxWidth);
      return buckets.back();
    };
    std::vector<const Table *> largestFirst = tablesOf[v];
    std::stable_sort(largestFirst.begin(), largestFirst.end(),
                     [](const Table *a, const Table *b) {
                       return a->scope.size() > b->scope.size();
                     });
    for (const Table *table : largestFirst) {
      Scope others = table->scope;
      others.erase(std::find(others.begin(), others.end(), v));
      bucketFor(others).tables.push_back(table);
    }
    for (unsigned rival : rivals[v])
      if (isOpen[rival])
        bucketFor({rival}).rivals.push_back(rival);
    if (buckets.empty())
      buckets.emplace_back();
    return buckets;
  }

  void eliminate(unsigned v) {
    isOpen[v] = false;
    const std::vector<Bucket> buckets = bucketsOf(v);
    for (unsigned u : neighbours[v])
      neighbours[u].erase(v);
    for (const Bucket &bucket : buckets)
      // It is worth its weight once.
      add(tableOf(v, bucket, &bucket == &buckets.front() ? weights[v] : 0));
    for (const Table *table : tablesOf[v])
      for (unsigned u : table->scope)
        if (u != v)
          tablesOf[u].erase(
              std::find(tablesOf[u].begin(), tablesOf[u].end(), table));
    tablesOf[v].clear();
  }

  /// The better of choosing v and of not doing so; notes what the former gains.
  Table tableOf(unsigned v, const Bucket &bucket, double weight) {
    Scope withV = bucket.scope;
    const size_t place =
        std::lower_bound(withV.begin(), withV.end(), v) - withV.begin();
    withV.insert(withV.begin() + place, v);
    Table best{bucket.scope, {}}, gain{bucket.scope, {}};
    for (size_t bits = 0; bits < size_t(1) << bucket.scope.size(); ++bits) {
      const size_t low = bits & ((size_t(1) << place) - 1);
      const size_t without = low | (bits - low) << 1;
      const size_t with = without | size_t(1) << place;
      double left = 0, chosen = weight;
      for (const Table *table : bucket.tables) {
        left += table->at(withV, without);
        chosen += table->at(withV, with);
      }
      for (unsigned rival : bucket.rivals)
        if (with >> (std::lower_bound(withV.begin(), withV.end(), rival) -
                     withV.begin()) &
            1)
          chosen = kImpossible;
      best.values.push_back(std::max(left, chosen));
      gain.values.push_back(chosen - left);
    }
    gains[v].push_back(std::move(gain));
    return best;
  }

  void add(Table table) {
    if (table.scope.empty()) {
      bound += table.values.front();
      return;
    }
    tables.push_back(std::make_unique<Table>(std::move(table)));
    const Table *added = tables.back().get();
    for (unsigned u : added->scope) {
      tablesOf[u].push_back(added);
      for (unsigned w : added->scope)
        if (u != w)
          neighbours[u].insert(w);
    }
  }

  /// The last one that was eliminated depends on no other.
  std::vector<bool> decide(const std::vector<unsigned> &order) const {
    std::vector<bool> isChosen(weights.size(), false);
    for (size_t i = order.size(); i-- > 0;) {
      const unsigned v = order[i];
      double gain = 0;
      for (const Table &table : gains[v]) {
        size_t bits = 0;
        for (size_t u = 0; u < table.scope.size(); ++u)
          bits |= size_t(isChosen[table.scope[u]]) << u;
        gain += table.values[bits];
      }
      isChosen[v] =
          gain > 0 && std::none_of(rivals[v].begin(), rivals[v].end(),
                                   [&](unsigned u) { return isChosen[u]; });
    }
    return isChosen;
  }

  const std::vector<double> &weights;
  const std::vector<std::vector<unsigned>> &rivals;
  const size_t maxWidth;
  double bound = 0;
  /// By choice, of those that are open: with whom it is in a table.
  std::vector<std::set<unsigned>> neighbours;
  std::vector<std::vector<const Table *>> tablesOf;
  std::vector<std::unique_ptr<Table>> tables;
  std::vector<std::vector<Table>> gains; ///< of choosing it
  std::vector<bool> isOpen;
};

/// Heaviest first, if nothing before excludes it.
std::vector<bool> chooseByWeight(const Rivals &rivals) {
  std::vector<unsigned> order(rivals.weights.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](unsigned a, unsigned b) {
    return rivals.weights[a] > rivals.weights[b];
  });
  std::vector<bool> chosen(order.size(), false);
  for (unsigned v : order)
    chosen[v] = std::none_of(rivals.rivals[v].begin(), rivals.rivals[v].end(),
                             [&](unsigned u) { return chosen[u]; });
  return chosen;
}

double weightOf(const Rivals &rivals, const std::vector<bool> &chosen) {
  double weight = 0;
  for (unsigned v = 0; v < chosen.size(); ++v)
    weight += chosen[v] ? rivals.weights[v] : 0;
  return weight;
}

} // namespace

IndependentSet heaviestSet(const Rivals &rivals, unsigned maxWidth) {
  IndependentSet found = Elimination(rivals, maxWidth).run();
  found.weight = weightOf(rivals, found.isChosen);
  std::vector<bool> byWeight = chooseByWeight(rivals);
  const double weight = weightOf(rivals, byWeight);
  if (found.weight <= weight * (1 + kTie)) {
    found.isChosen = std::move(byWeight);
    found.weight = weight;
  }
  found.bound = std::max(found.bound, found.weight);
  return found;
}

} // namespace shardc::plan
