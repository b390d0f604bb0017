//===- Links.cpp - How long ranks take to talk to each other --------------===//

#include "passes/plan/machine/Links.h"

#include <cmath>

namespace shardc::plan {

double ringSeconds(const Curve &send, CollectiveKind kind, int64_t ranks,
                   double bytes) {
  const auto n = static_cast<double>(ranks);
  const double passes = kind == CollectiveKind::AllReduce ? 2 : 1;
  const double ofRank = bytes / n; // and to one other: a part of that
  return passes * (n - 1) *
         send.seconds(kind == CollectiveKind::AllToAll ? ofRank / n : ofRank);
}

/// Of `bytes` over `ranks`, what a measurement over `measured` ranks says: each
/// rank sends (n - 1) / n of them.
static double scaled(const Curve &curve, int64_t measured, int64_t ranks,
                     double bytes) {
  auto share = [](int64_t n) {
    return static_cast<double>(n - 1) / static_cast<double>(n);
  };
  return curve.seconds(bytes * share(ranks) / share(measured));
}

/// What it takes as long as, at most: tokens go to the ranks of all experts, or
/// come from them.
static CollectiveKind measuredAs(CollectiveKind kind) {
  return kind == CollectiveKind::Dispatch  ? CollectiveKind::AllGather
         : kind == CollectiveKind::Combine ? CollectiveKind::ReduceScatter
                                           : kind;
}

bool Links::isMeasured(CollectiveKind kind) const {
  return measured.count(measuredAs(kind)) > 0;
}

double Links::seconds(CollectiveKind kind, int64_t ranks, double bytes) const {
  if (ranks <= 1)
    return 0;
  auto known = measured.find(measuredAs(kind));
  if (known == measured.end() || known->second.empty())
    return ringSeconds(send, kind, ranks, bytes);
  if (kind == CollectiveKind::AllToAll)
    bytes /= double(ranks); // measured by what one rank gives
  const auto &byRanks = known->second;
  auto above = byRanks.lower_bound(ranks);
  if (above == byRanks.begin())
    return scaled(above->second, above->first, ranks, bytes);
  auto below = std::prev(above);
  if (above == byRanks.end()) {
    // More ranks than were measured: as many bytes, but more steps.
    const double steps =
        std::log2(double(ranks)) / std::log2(double(below->first));
    const double start = below->second.seconds(1);
    return scaled(below->second, below->first, ranks, bytes) +
           start * (steps - 1);
  }
  if (above->first == ranks)
    return above->second.seconds(bytes);
  const double part = std::log(double(ranks) / double(below->first)) /
                      std::log(double(above->first) / double(below->first));
  return std::pow(below->second.seconds(bytes), 1 - part) *
         std::pow(above->second.seconds(bytes), part);
}

} // namespace shardc::plan
