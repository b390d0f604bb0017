//===- ReplicaRequests.cpp - Requests of processes, and what they leave ---===//
#include "runtime/base/Message.h"
#include "runtime/session/Replicas.h"
#include "runtime/transport/StreamNumbers.h"

#include <algorithm>

namespace shardc::runtime {

//===----------------------------------------------------------------------===//
// Requests
//===----------------------------------------------------------------------===//

/// The part that this process has of a request. An error of any process is that
/// of all, which are then ready for the next one.
Status Replicas::runRequest(uint64_t number, std::span<const Part> parts,
                            const std::function<Status()> &body) {
  Transport &transport = *world.transport;
  do {
    SHARDC_RETURN_IF_ERROR(settle());
    if (number <= givenUpUntil) // by others, before this one has come to it
      return givenUp(parts);
  } while (!transport.beginRequest(number, devices.isHost()));
  for (const Part &part : parts)
    if (part.state)
      part.state->lastBegun = number;
  Status status = withoutExceptions(body);
  if (isStuck())
    return transport.abort(status);
  status = world.ended(status);
  for (const Part &part : parts)
    if (part.state && status.isOk())
      part.state->lastDone = number;
  if (!transport.endRequest(status.isOk()))
    return status;
  if (transport.failed())
    return transport.failure();
  SHARDC_RETURN_IF_ERROR(settle());
  return givenUp(parts);
}

//===----------------------------------------------------------------------===//
// Whether all are done
//===----------------------------------------------------------------------===//

/// All say so to rank 0, as a request: one that failed before takes it along.
Status Replicas::meet(uint64_t number) {
  Transport &transport = *world.transport;
  const auto body = [&] {
    constexpr StreamOptions kDone{.slots = 1, .isOneWay = true};
    if (transport.rank() > 0)
      return transport.stream(0, kDoneStream, kDone).send({}, std::nullopt);
    std::vector<Stream *> others;
    for (int rank = 1; rank < transport.size(); ++rank)
      others.push_back(&transport.stream(rank, kDoneStream, kDone));
    SHARDC_RETURN_IF_ERROR(
        transport.waitPatiently(patience, [&](Deadline deadline) {
          return transport.waitForMessages(others, deadline);
        }));
    for (Stream *other : others)
      other->release();
    return Status::ok();
  };
  (void)runRequest(number, {}, body); // states know of what has failed
  return world.isLost() ? world.failure() : Status::ok();
}

Status Replicas::confirm() {
  SHARDC_RETURN_IF_ERROR(checkLeads());
  if (!processes)
    return Status::ok();
  const Turn mine(*this);
  SHARDC_RETURN_IF_ERROR(settle());
  const uint64_t number = nextRequest();
  SHARDC_RETURN_IF_ERROR(asAll([&] {
    return tell({.kind = Command::Kind::Confirm,
                 .number = static_cast<int64_t>(number)});
  }));
  return meet(number);
}

uint64_t Replicas::nextRequest() const {
  return std::max(world.transport->lastRequest(), givenUpUntil) + 1;
}

/// Until no process is at a request that failed; where none is, at once.
Status Replicas::settle() {
  while (world.transport && world.transport->isSettling()) {
    Settlement found;
    SHARDC_RETURN_IF_ERROR(world.transport->takeSettlement(patience, found));
    takeBack(found);
  }
  return Status::ok();
}

/// States are again alike in all processes, or known not to be.
void Replicas::takeBack(const Settlement &found) {
  givenUpUntil = std::max(givenUpUntil, found.mostBegun);
  givenUpWith = found.status;
  lastFailed = found.failed;
  const bool canTakeBack = found.canTakeBack(found.mostDone);
  // Of a pool nothing counts but what sequences say of their pages: they are
  // wrong where rank 0 has called done what others have not.
  const bool isPool = artifact.manifest().page != 0;
  for (auto &[number, state] : known) {
    const bool isLost =
        isPool
            ? found.leastDone < state->lastDone && state->lastDone <= found.told
            : !canTakeBack && (found.isHalfDone(state->lastBegun) ||
                               found.isHalfDone(state->lastDone));
    if (isLost) {
      std::lock_guard lock(lostMutex);
      const auto lost = artifactError(
          "the state was lost when a request failed that had gone well on some "
          "ranks: ",
          found.status.message(), "; reset it, or create another one");
      state->lost = lost.at(found.status.place());
      state->isLostByOthers =
          artifact.replicaOf(found.rank) != static_cast<int>(state->replica);
    } else if (canTakeBack && !isPool && state->lastDone == found.mostDone)
      for (const auto &caches : state->stages)
        if (caches)
          caches->undo();
  }
}

/// Which ranks have begun to set its caches nobody knows.
Status Replicas::givenUp(std::span<const Part> parts) {
  for (const Part &part : parts)
    if (part.state && pipelines[part.state->replica]->setsCaches())
      reset(*part.state);
  return givenUpWith;
}

} // namespace shardc::runtime
