#include "runtime/collectives/threads/Rendezvous.h"

#include "runtime/base/Message.h"
#include "runtime/base/PatientDeadline.h"
#include "runtime/collectives/WaitText.h"

namespace shardc::runtime {

Rendezvous::Rendezvous(std::vector<int> members, RunFailure &failure,
                       uint32_t first)
    : members(std::move(members)), failure(failure),
      places(this->members.size()), state(first * kRound) {
  failure.waitingPlaces.push_back(this);
}

void Rendezvous::abort() {
  state.fetch_or(kAborted, std::memory_order_release);
  futexWakeAll(state);
}

void Rendezvous::clear() {
  for (Place &place : places)
    place.here.store(false);
  arrivals.store(0);
  state.store(0);
}

std::string Rendezvous::timeoutText(const CollectiveSite &site,
                                    int index) const {
  std::string missing;
  for (size_t i = 0; i < members.size(); ++i)
    if (!places[i].here.load())
      missing +=
          (missing.empty() ? "" : "; ") + failure.describeRank(members[i]);
  return message(siteText(site), ": rank ", members[static_cast<size_t>(index)],
                 " ", waitText(failure.timeout, "; missing: " + missing));
}

/// The last to arrive lets all others go.
Status Rendezvous::open(const CollectiveSite &site) {
  for (size_t i = 0; i < places.size(); ++i)
    if (places[i].instruction != site.instruction) {
      failure.fail(artifactError(site.kind, " at node '", site.node,
                                 "' is instruction ", site.instruction,
                                 ", but rank ", members[i],
                                 " is at instruction ", places[i].instruction));
      return failure.status();
    }
  for (Place &place : places)
    place.here.store(false, std::memory_order_relaxed);
  arrivals.store(0, std::memory_order_relaxed);
  state.fetch_add(kRound, std::memory_order_release);
  futexWakeAll(state);
  return Status::ok();
}

Status Rendezvous::wait(int index, uint32_t round, const CollectiveSite &site) {
  PatientDeadline deadline(failure.timeout, failure.progress);
  while (state.load(std::memory_order_acquire) == round) {
    futexWait(state, round, deadline.untilNextLook());
    if (state.load(std::memory_order_acquire) != round || !deadline.hasPassed())
      continue;
    failure.fail(artifactError(timeoutText(site, index)));
    return failure.status();
  }
  return state.load(std::memory_order_acquire) & kAborted ? failure.status()
                                                          : Status::ok();
}

Status Rendezvous::arrive(int index, const CollectiveSite &site) {
  // Before the arrival: the round cannot end without this member.
  const uint32_t round = state.load(std::memory_order_acquire);
  if (round & kAborted)
    return failure.status();
  Place &place = places[static_cast<size_t>(index)];
  place.instruction = site.instruction;
  place.here.store(true, std::memory_order_relaxed);
  if (arrivals.fetch_add(1, std::memory_order_acq_rel) + 1 == size())
    return open(site);
  return wait(index, round, site);
}

} // namespace shardc::runtime
