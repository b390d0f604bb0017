//===- CutSearch.cpp - Where a pipeline is cut ----------------------------===//

#include "passes/plan/CutSearch.h"

#include <algorithm>
#include <cassert>
#include <limits>

namespace shardc::plan {

namespace {

/// What the smallest crossing counts, as a share of all work. Transfers run
/// beside computation, so they settle ties; a model's scale says nothing.
constexpr double kLinkCost = 0.05;

/// Of a device's memory, what weights may fill wherever they are.
constexpr double kFilled = 1.0 / 3;

/// Of more places to cut at, as many as these are looked at.
constexpr size_t kMaxPlaces = 4096;

struct Cost {
  double slowest = std::numeric_limits<double>::infinity();
  double crossing = 0;

  bool operator<(const Cost &o) const {
    return slowest != o.slowest ? slowest < o.slowest : crossing < o.crossing;
  }
};

class CutSearch {
public:
  CutSearch(const std::vector<Piece> &pieces, size_t stages)
      : pieces(pieces), stages(stages), work{0}, weights{0} {
    for (const Piece &piece : pieces) {
      work.push_back(work.back() + piece.work);
      weights.push_back(weights.back() + piece.weightBytes);
      if (piece.crossingBytes > 0)
        smallest = std::min(smallest, piece.crossingBytes);
    }
  }

  /// By seconds. `mostFilled`: bytes of weights by those of memory.
  CutSearch(const std::vector<Piece> &pieces, const StageDevices &devices,
            double mostFilled)
      : CutSearch(pieces, devices.kindOf.size()) {
    this->devices = &devices;
    this->mostFilled = mostFilled * (1 + 1e-9);
    for (size_t kind = 0; kind < devices.kinds.size(); ++kind) {
      std::vector<double> &sums = seconds.emplace_back(1, 0);
      for (const Piece &piece : pieces)
        sums.push_back(sums.back() + piece.seconds[kind]);
    }
  }

  std::vector<size_t> run() {
    const size_t n = pieces.size();
    // best[k][end]: k stages hold the pieces before `end`.
    std::vector<std::vector<Cost>> best(stages + 1, std::vector<Cost>(n + 1));
    std::vector<std::vector<size_t>> from(stages + 1,
                                          std::vector<size_t>(n + 1));
    best[0][0].slowest = 0;
    for (size_t k = 1; k <= stages; ++k)
      for (size_t end = k; end <= n - (stages - k); ++end)
        // The earlier a stage begins, the more it has to do.
        for (size_t begin = end; begin-- > k - 1;) {
          if (load(k - 1, begin, end) > best[k][end].slowest ||
              !fits(k - 1, begin, end))
            break;
          Cost cost = best[k - 1][begin];
          cost.slowest = std::max(cost.slowest, stageCost(k - 1, begin, end));
          cost.crossing += begin ? pieces[begin - 1].crossingBytes : 0;
          if (!(best[k][end] < cost)) {
            best[k][end] = cost;
            from[k][end] = begin;
          }
        }
    std::vector<size_t> begins(stages);
    for (size_t k = stages, end = n; k > 0; --k)
      begins[k - 1] = end = from[k][end];
    return begins;
  }

private:
  double load(size_t stage, size_t begin, size_t end) const {
    if (!devices)
      return share(work, begin, end) + share(weights, begin, end);
    const std::vector<double> &sums = seconds[devices->kindOf[stage]];
    return sums[end] - sums[begin];
  }
  bool fits(size_t stage, size_t begin, size_t end) const {
    return !devices || weights[end] - weights[begin] <=
                           mostFilled * devices->memoryBytes[stage];
  }
  double stageCost(size_t stage, size_t begin, size_t end) const {
    if (devices)
      return load(stage, begin, end);
    double link = (begin ? pieces[begin - 1].crossingBytes : 0) +
                  (end < pieces.size() ? pieces[end - 1].crossingBytes : 0);
    return load(stage, begin, end) + kLinkCost * link / smallest;
  }
  static double share(const std::vector<double> &sums, size_t begin,
                      size_t end) {
    return sums.back() > 0 ? (sums[end] - sums[begin]) / sums.back() : 0;
  }

  const std::vector<Piece> &pieces;
  size_t stages;
  std::vector<double> work, weights; ///< of the pieces before each
  double smallest = std::numeric_limits<double>::infinity(); ///< crossing
  const StageDevices *devices = nullptr;
  double mostFilled = 0;
  std::vector<std::vector<double>> seconds; ///< by kind, of the pieces before
};

/// First pieces of at most `count` runs of pieces that are about equal in what
/// they have to do and how many they are. Each begins where least crosses.
std::vector<size_t> coarsen(const std::vector<Piece> &pieces, size_t count) {
  double work = 0, weights = 0;
  for (const Piece &piece : pieces) {
    work += piece.work;
    weights += piece.weightBytes;
  }
  std::vector<size_t> begins{0};
  double done = 0; // of 3: work, weights, pieces
  size_t bucket = 0;
  for (size_t next = 1; next < pieces.size(); ++next) {
    const Piece &last = pieces[next - 1];
    done += (work > 0 ? last.work / work : 0) +
            (weights > 0 ? last.weightBytes / weights : 0) +
            1.0 / pieces.size();
    const size_t here = static_cast<size_t>(done / 3 * (count - 1));
    if (here != bucket || begins.size() == 1)
      begins.push_back(next);
    else if (last.crossingBytes < pieces[begins.back() - 1].crossingBytes)
      begins.back() = next;
    bucket = here;
  }
  return begins;
}

Piece joined(const std::vector<Piece> &pieces, size_t begin, size_t end) {
  Piece all;
  for (size_t p = begin; p < end; ++p) {
    all.work += pieces[p].work;
    all.weightBytes += pieces[p].weightBytes;
    all.crossingBytes = pieces[p].crossingBytes;
    all.seconds.resize(pieces[p].seconds.size(), 0);
    for (size_t kind = 0; kind < all.seconds.size(); ++kind)
      all.seconds[kind] += pieces[p].seconds[kind];
  }
  return all;
}

/// How full of weights the fullest stage may be: as full as it is, or as leaves
/// room for caches.
double mostFilled(const std::vector<Piece> &pieces,
                  const std::vector<size_t> &cuts,
                  const StageDevices &devices) {
  double most = kFilled;
  for (size_t stage = 0; stage < cuts.size(); ++stage) {
    const size_t end =
        stage + 1 < cuts.size() ? cuts[stage + 1] : pieces.size();
    most = std::max(most, joined(pieces, cuts[stage], end).weightBytes /
                              devices.memoryBytes[stage]);
  }
  return most;
}

/// Calls search(pieces), or of more pieces than can be looked at search(runs).
std::vector<size_t>
searchRuns(const std::vector<Piece> &pieces, size_t stages,
           llvm::function_ref<std::vector<size_t>(const std::vector<Piece> &)>
               search) {
  assert(stages >= 1 && stages <= pieces.size() && "every stage needs a piece");
  // A third of the runs differ in the number of pieces alone, so there are
  // enough of them for all stages.
  const size_t places = std::max(kMaxPlaces, 4 * stages);
  if (pieces.size() <= places)
    return search(pieces);
  const std::vector<size_t> begins = coarsen(pieces, places);
  std::vector<Piece> runs;
  for (size_t run = 0; run < begins.size(); ++run)
    runs.push_back(
        joined(pieces, begins[run],
               run + 1 < begins.size() ? begins[run + 1] : pieces.size()));
  std::vector<size_t> cuts = search(runs);
  for (size_t &cut : cuts)
    cut = begins[cut];
  return cuts;
}

} // namespace

std::vector<size_t> searchCuts(const std::vector<Piece> &pieces,
                               size_t stages) {
  return searchRuns(pieces, stages, [&](const std::vector<Piece> &runs) {
    return CutSearch(runs, stages).run();
  });
}

std::vector<size_t> searchCuts(const std::vector<Piece> &pieces,
                               const StageDevices &devices) {
  const size_t stages = devices.kindOf.size();
  return searchRuns(pieces, stages, [&](const std::vector<Piece> &runs) {
    const std::vector<size_t> without = CutSearch(runs, stages).run();
    return CutSearch(runs, devices, mostFilled(runs, without, devices)).run();
  });
}

} // namespace shardc::plan
