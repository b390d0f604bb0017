//===- ReplicaRequests.cpp - Requests of processes, and what they leave ---===//
#include "runtime/base/Message.h"
#include "runtime/session/Replicas.h"

#include <algorithm>

namespace shardc::runtime {

/// The part that this process has of a request. An error of any process is that
/// of all, which are then ready for the next one.
Status Replicas::runRequest(uint64_t number, KeptState *state,
                            const std::function<Status()> &body) {
  Transport &transport = *world.transport;
  do {
    SHARDC_RETURN_IF_ERROR(settle());
    if (number <= givenUpUntil) // by others, before this one has come to it
      return givenUp(state);
  } while (!transport.beginRequest(number, devices.isHost()));
  if (state)
    state->lastBegun = number;
  Status status = withoutExceptions(body);
  if (isStuck())
    return transport.abort(status);
  status = world.ended(status);
  if (status.isOk() && state)
    state->lastDone = number;
  if (!transport.endRequest(status.isOk()))
    return status;
  if (transport.failed())
    return transport.failure();
  SHARDC_RETURN_IF_ERROR(settle());
  return givenUp(state);
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
  const bool canTakeBack = found.canTakeBack(found.mostDone);
  for (auto &[number, state] : known) {
    if (canTakeBack) {
      // Of a pool nothing counts but what sequences say of their pages.
      const bool counts = artifact.manifest().page == 0;
      if (state->lastDone == found.mostDone && counts)
        for (const auto &caches : state->stages)
          if (caches)
            caches->undo();
    } else if (found.isHalfDone(state->lastBegun) ||
               found.isHalfDone(state->lastDone))
      state->lost = artifactError(
          "the state was lost when a request failed that had gone well on some "
          "ranks: ",
          found.status.message(), "; reset it, or create another one");
  }
}

/// Which ranks have begun to set its caches nobody knows.
Status Replicas::givenUp(KeptState *state) {
  if (state && pipelines[state->replica]->setsCaches())
    state->reset();
  return givenUpWith;
}

} // namespace shardc::runtime
