#include "runtime/backend/host/Rendezvous.h"

#include "runtime/base/Message.h"

#include <algorithm>

namespace shardc::runtime {

void RunFailure::fail(const Status &status) {
  {
    std::lock_guard lock(mutex);
    if (hasFailed.load(std::memory_order_relaxed))
      return;
    first = status;
    hasFailed.store(true, std::memory_order_release);
  }
  for (Rendezvous *place : waitingPlaces)
    place->wakeAll();
}

Status RunFailure::status() const {
  std::lock_guard lock(mutex);
  return first;
}

void RunFailure::reset() {
  std::lock_guard lock(mutex);
  first = Status::ok();
  hasFailed.store(false, std::memory_order_release);
  for (Rendezvous *place : waitingPlaces)
    place->clear();
}

Rendezvous::Rendezvous(std::vector<int> members, RunFailure &failure)
    : members(std::move(members)), failure(failure),
      here(this->members.size(), 0) {
  failure.waitingPlaces.push_back(this);
}

void Rendezvous::wakeAll() {
  // Taking the lock orders this after a waiter's check of the failure.
  std::lock_guard lock(mutex);
  changed.notify_all();
}

void Rendezvous::clear() {
  std::lock_guard lock(mutex);
  std::fill(here.begin(), here.end(), 0);
  arrivals = 0;
}

std::string Rendezvous::timeoutText(const CollectiveSite &site,
                                    int index) const {
  std::string missing;
  for (size_t i = 0; i < members.size(); ++i)
    if (!here[i])
      missing +=
          (missing.empty() ? "" : "; ") + failure.describeRank(members[i]);
  std::string node =
      site.node.empty() ? "" : message(" at node '", site.node, "'");
  return message(site.kind, node, " (instruction ", site.instruction,
                 "): rank ", members[static_cast<size_t>(index)], " waited ",
                 static_cast<double>(failure.timeout.count()) / 1000,
                 " s; missing: ", missing,
                 "; raise --timeout if they are only slow");
}

Status Rendezvous::arrive(int index, const CollectiveSite &site) {
  const auto deadline = std::chrono::steady_clock::now() + failure.timeout;
  std::string problem;
  {
    std::unique_lock lock(mutex);
    if (failure.failed())
      return failure.status();
    if (arrivals == 0)
      instruction = site.instruction;
    if (instruction != site.instruction) {
      problem =
          message(site.kind, " at node '", site.node, "': rank ",
                  members[static_cast<size_t>(index)], " is at instruction ",
                  site.instruction, ", the others are at ", instruction);
    } else {
      const uint64_t mine = round;
      here[static_cast<size_t>(index)] = 1;
      if (++arrivals == size()) {
        std::fill(here.begin(), here.end(), 0);
        arrivals = 0;
        ++round;
        changed.notify_all();
        return Status::ok();
      }
      bool inTime = changed.wait_until(
          lock, deadline, [&] { return round != mine || failure.failed(); });
      if (round != mine)
        return Status::ok();
      if (inTime)
        return failure.status();
      problem = timeoutText(site, index);
    }
  }
  failure.fail(artifactError(problem));
  return failure.status();
}

} // namespace shardc::runtime
