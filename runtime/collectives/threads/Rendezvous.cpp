#include "runtime/collectives/threads/Rendezvous.h"

#include "runtime/base/Message.h"
#include "runtime/base/PatientDeadline.h"
#include "runtime/base/PauseCore.h"
#include "runtime/collectives/WaitText.h"
#include "runtime/launch/HostThreads.h"

#include <algorithm>

namespace shardc::runtime {

/// Longer than it takes to wake a thread, shorter than anybody notices.
static constexpr std::chrono::microseconds kSpinTime(20);

/// Reads files: once for all groups.
static int coresAtStart() {
  static const int cores = hostCores();
  return cores;
}

Rendezvous::Rendezvous(std::vector<int> members, RunFailure &failure,
                       uint32_t first)
    : members(std::move(members)), failure(failure),
      spins(maySpin(this->members.size(), coresAtStart())),
      state(first * kRound) {
  size_t count = this->members.size();
  levels.emplace_back(count);
  do {
    count = (count + kFan - 1) / kFan;
    levels.emplace_back(count);
  } while (count > 1);
  for (size_t i = 0; i < this->members.size(); ++i)
    levels[0][i].member = this->members[i];
  failure.waitingPlaces.push_back(this);
}

void Rendezvous::abort() {
  state.fetch_or(kAborted, std::memory_order_release);
  futexWakeAll(state);
}

void Rendezvous::clear() {
  for (auto &level : levels)
    for (Place &place : level) {
      place.arrivals.store(0);
      place.at.store(0);
    }
  state.store(0);
}

/// Of the first rank that is missing.
Status Rendezvous::timedOut(const CollectiveSite &site, int index,
                            uint32_t round) const {
  std::string missing;
  int first = -1;
  for (size_t i = 0; i < members.size(); ++i)
    if (levels[0][i].at.load() != round + 1) {
      first = first < 0 ? members[i] : first;
      missing +=
          (missing.empty() ? "" : "; ") + failure.describeRank(members[i]);
    }
  return artifactError(siteText(site), ": rank ",
                       members[static_cast<size_t>(index)], " ",
                       waitText(failure.timeout, "; missing: " + missing))
      .at(placeOf(site, first));
}

Status Rendezvous::compare(const Place *begin, const Place *end,
                           const CollectiveSite &site) {
  for (const Place *place = begin; place != end; ++place)
    if (place->instruction != site.instruction) {
      failure.fail(artifactError(site.kind, " at node '", site.node,
                                 "' is instruction ", site.instruction,
                                 ", but rank ", place->member,
                                 " is at instruction ", place->instruction)
                       .at(placeOf(site, place->member)));
      return failure.status();
    }
  return Status::ok();
}

/// The last to arrive lets all others go.
void Rendezvous::open() {
  // One order of this and of what wait() does: either the sleeper sees the new
  // round, or it is seen.
  state.fetch_add(kRound, std::memory_order_seq_cst);
  if (hasSleepers.exchange(false, std::memory_order_seq_cst))
    futexWakeAll(state);
}

/// Looks less and less often; false: there is still nothing new.
bool Rendezvous::spin(uint32_t round) const {
  const auto end = std::chrono::steady_clock::now() + kSpinTime;
  for (int pauses = 1;; pauses = std::min(2 * pauses, 64)) {
    if (state.load(std::memory_order_acquire) != round)
      return true;
    if (std::chrono::steady_clock::now() >= end)
      return false;
    for (int i = 0; i < pauses; ++i)
      pauseCore();
  }
}

Status Rendezvous::wait(int index, uint32_t round, const CollectiveSite &site) {
  if (!spins || !spin(round)) {
    PatientDeadline deadline(failure.timeout, failure.progress);
    while (state.load(std::memory_order_acquire) == round) {
      // Each time: who opened the last round may have taken it away.
      hasSleepers.store(true, std::memory_order_seq_cst);
      futexWait(state, round, deadline.untilNextLook());
      if (state.load(std::memory_order_acquire) != round ||
          !deadline.hasPassed())
        continue;
      failure.fail(timedOut(site, index, round));
      return failure.status();
    }
  }
  return state.load(std::memory_order_acquire) & kAborted ? failure.status()
                                                          : Status::ok();
}

Status Rendezvous::arrive(int index, const CollectiveSite &site) {
  // Before the arrival: the round cannot end without this member.
  const uint32_t round = state.load(std::memory_order_acquire);
  if (round & kAborted)
    return failure.status();
  auto at = static_cast<size_t>(index);
  levels[0][at].instruction = site.instruction;
  levels[0][at].at.store(round + 1, std::memory_order_relaxed);
  for (size_t level = 1; level < levels.size(); ++level) {
    const std::vector<Place> &below = levels[level - 1];
    at /= kFan;
    const size_t first = at * kFan;
    const size_t count = std::min(kFan, below.size() - first);
    Place &node = levels[level][at];
    if (node.arrivals.fetch_add(1, std::memory_order_acq_rel) + 1 < count)
      return wait(index, round, site);
    SHARDC_RETURN_IF_ERROR(
        compare(&below[first], below.data() + first + count, site));
    // Nobody comes here again before the meeting is open.
    node.arrivals.store(0, std::memory_order_relaxed);
    node.instruction = site.instruction;
    node.member = members[static_cast<size_t>(index)];
  }
  open();
  return Status::ok();
}

} // namespace shardc::runtime
