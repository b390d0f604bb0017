#include "runtime/rank/TracedRuns.h"

#include <algorithm>

namespace shardc::runtime {
namespace {

/// An instruction lasts from the first to the last thing that it did; what it
/// took is the sum of them.
void addActivity(const DeviceActivity &activity, bool isLastRun,
                 RankShapePlan &plan) {
  InstructionTiming &timing = plan.timings[activity.tag];
  timing.total += activity.end - activity.begin;
  if (!isLastRun)
    return;
  const bool isFirst = timing.end == 0;
  timing.begin =
      isFirst ? activity.begin : std::min(timing.begin, activity.begin);
  timing.end = std::max(timing.end, activity.end);
  plan.activities.push_back(activity);
}

void forgetLastRun(RankShapePlan &plan) {
  plan.activities.clear();
  for (InstructionTiming &timing : plan.timings)
    timing.begin = timing.end = 0;
}

} // namespace

void TracedRuns::forget(const RankShapePlan &plan) {
  std::replace(runs.begin(), runs.end(), const_cast<RankShapePlan *>(&plan),
               static_cast<RankShapePlan *>(nullptr));
}

Status TracedRuns::take(DeviceStream &stream) {
  std::vector<DeviceActivity> activities;
  SHARDC_RETURN_IF_ERROR(stream.takeActivities(activities));
  for (RankShapePlan *plan : runs)
    if (plan)
      forgetLastRun(*plan);
  for (DeviceActivity &activity : activities) {
    const uint64_t run = (activity.tag >> kTraceTagBits) - before;
    activity.tag &= (uint64_t{1} << kTraceTagBits) - 1;
    RankShapePlan *plan = run < runs.size() ? runs[run] : nullptr;
    if (!plan || activity.tag >= plan->timings.size())
      continue;
    const auto next = runs.begin() + static_cast<ptrdiff_t>(run) + 1;
    addActivity(activity, std::find(next, runs.end(), plan) == runs.end(),
                *plan);
  }
  before += runs.size();
  runs.clear();
  return Status::ok();
}

} // namespace shardc::runtime
