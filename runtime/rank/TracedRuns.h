//===- TracedRuns.h - Which run a device's times belong to ----------------===//
//
// A device notes what it did under tags: the number of the run and the index of
// the instruction. They are taken when no rank runs, and go to the plans of
// their runs:
//
//   runs of plans A, B, A since the last time     tags (5, i), (6, i), (7, i)
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_RANK_TRACEDRUNS_H
#define SHARDC_RUNTIME_RANK_TRACEDRUNS_H

#include "runtime/rank/RankShapePlan.h"

#include <vector>

namespace shardc::runtime {

class TracedRuns {
public:
  /// A run of `plan` begins.
  void begin(RankShapePlan &plan) { runs.push_back(&plan); }
  /// Of the run at hand.
  int64_t tag() const {
    return static_cast<int64_t>(before + runs.size() - 1) << kTraceTagBits;
  }
  /// The plan becomes another shape's.
  void forget(const RankShapePlan &plan);
  /// What was noted of the runs since, into their plans.
  Status take(DeviceStream &stream);

private:
  std::vector<RankShapePlan *> runs; ///< since they were taken; null: gone
  uint64_t before = 0;               ///< of all runs, those before these
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_RANK_TRACEDRUNS_H
