//===- CutSearch.cpp - Where a pipeline is cut ----------------------------===//

#include "passes/stage/CutSearch.h"

#include <algorithm>
#include <cassert>
#include <limits>

namespace shardc::stage {

namespace {

/// What the smallest crossing counts, as a share of all work. Transfers run
/// beside computation, so they settle ties; a model's scale says nothing.
constexpr double kLinkCost = 0.05;

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

  std::vector<size_t> run() {
    const size_t n = pieces.size();
    // best[k][end]: k stages hold the pieces before `end`.
    std::vector<std::vector<Cost>> best(stages + 1, std::vector<Cost>(n + 1));
    std::vector<std::vector<size_t>> from(stages + 1,
                                          std::vector<size_t>(n + 1));
    best[0][0].slowest = 0;
    for (size_t k = 1; k <= stages; ++k)
      for (size_t end = k; end <= n - (stages - k); ++end)
        for (size_t begin = k - 1; begin < end; ++begin) {
          Cost cost = best[k - 1][begin];
          cost.slowest = std::max(cost.slowest, stageCost(begin, end));
          cost.crossing += begin ? pieces[begin - 1].crossingBytes : 0;
          if (cost < best[k][end]) {
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
  double stageCost(size_t begin, size_t end) const {
    double link = (begin ? pieces[begin - 1].crossingBytes : 0) +
                  (end < pieces.size() ? pieces[end - 1].crossingBytes : 0);
    return share(work, begin, end) + share(weights, begin, end) +
           kLinkCost * link / smallest;
  }
  static double share(const std::vector<double> &sums, size_t begin,
                      size_t end) {
    return sums.back() > 0 ? (sums[end] - sums[begin]) / sums.back() : 0;
  }

  const std::vector<Piece> &pieces;
  size_t stages;
  std::vector<double> work, weights; ///< of the pieces before each
  double smallest = std::numeric_limits<double>::infinity(); ///< crossing
};

} // namespace

std::vector<size_t> searchCuts(const std::vector<Piece> &pieces,
                               size_t stages) {
  assert(stages >= 1 && stages <= pieces.size() && "every stage needs a piece");
  return CutSearch(pieces, stages).run();
}

} // namespace shardc::stage
