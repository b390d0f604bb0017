//===- StageTrace.cpp - What devices did, by instruction ------------------===//
#include "runtime/stage/Stage.h"

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

Status Stage::takeActivities() {
  std::lock_guard lock(mutex);
  for (int number : localRanks) {
    const auto r = static_cast<size_t>(number);
    RankState &rank = ranks[r];
    if (!rank.traces)
      continue;
    std::vector<DeviceActivity> activities;
    SHARDC_RETURN_IF_ERROR(rank.stream->takeActivities(activities));
    for (ShapePlan *plan : rank.tracedRuns)
      if (plan)
        forgetLastRun(plan->ranks[r]);
    for (DeviceActivity &activity : activities) {
      const uint64_t run = (activity.tag >> kTraceTagBits) - rank.runsBefore;
      activity.tag &= (uint64_t{1} << kTraceTagBits) - 1;
      ShapePlan *plan =
          run < rank.tracedRuns.size() ? rank.tracedRuns[run] : nullptr;
      if (!plan || activity.tag >= plan->ranks[r].timings.size())
        continue;
      const auto next =
          rank.tracedRuns.begin() + static_cast<ptrdiff_t>(run) + 1;
      addActivity(activity,
                  std::find(next, rank.tracedRuns.end(), plan) ==
                      rank.tracedRuns.end(),
                  plan->ranks[r]);
    }
    rank.runsBefore += rank.tracedRuns.size();
    rank.tracedRuns.clear();
  }
  return Status::ok();
}

/// It becomes another shape's.
void Stage::forgetTraced(const ShapePlan &plan) {
  for (RankState &rank : ranks)
    std::replace_if(
        rank.tracedRuns.begin(), rank.tracedRuns.end(),
        [&](const ShapePlan *traced) { return traced == &plan; }, nullptr);
}

} // namespace shardc::runtime
