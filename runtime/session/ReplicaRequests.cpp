//===- ReplicaRequests.cpp - Requests of processes, and what they leave ---===//
#include "runtime/base/Message.h"
#include "runtime/session/Replicas.h"
#include "runtime/transport/StreamNumbers.h"

#include <algorithm>

namespace shardc::runtime {

//===----------------------------------------------------------------------===//
// Feeds
//===----------------------------------------------------------------------===//

/// Files are looked at before each request, as for requests that run alone.
class Replicas::CheckedFeed : public RequestFeed {
public:
  CheckedFeed(Replicas &all, KeptState &state, RequestFeed &of)
      : all(all), state(state), of(of) {}

  const PipelineRequest *next(bool waits) override {
    const PipelineRequest *found = of.next(waits);
    if (!found)
      return nullptr;
    if (const Status files = all.checkFiles(); !files.isOk()) {
      status = files;
      return nullptr;
    }
    request = *found;
    request.states = &state.stages;
    return &request;
  }
  void done() override { of.done(); }
  void stop() override { of.stop(); }

  Status status; ///< of files

private:
  Replicas &all;
  KeptState &state;
  RequestFeed &of;
  PipelineRequest request; ///< the last one
};

Status Replicas::runFeed(KeptState &state, RequestFeed &feed,
                         const RunOptions &options) {
  SHARDC_RETURN_IF_ERROR(checkLeads());
  SHARDC_RETURN_IF_ERROR(checkState(state));
  const MaybeEnd end(options, deadlines);
  CheckedFeed checked(*this, state, feed);
  if (processes)
    return leadFeed(state, checked, end.get());
  const Status status =
      Turn(*this, state.replica, state.replica + 1, end.get()).run(checked);
  return status.isOk() ? checked.status : status;
}

/// As many at a time as keep all stages at work.
Status Replicas::leadFeed(KeptState &state, RequestFeed &feed, RunEnd *end) {
  std::vector<PipelineRequest> requests;
  for (;;) {
    requests.clear();
    const size_t most = pipelines[state.replica]->stages.size();
    while (requests.size() < most)
      if (const PipelineRequest *request = feed.next(requests.empty()))
        requests.push_back(*request);
      else
        break;
    if (requests.empty())
      return Status::ok();
    Command command{.state = state.number};
    if (const Status status = leadRun(command, &state, requests, end);
        !status.isOk()) {
      feed.stop();
      return status;
    }
    for (size_t i = 0; i < requests.size(); ++i)
      feed.done();
  }
}

//===----------------------------------------------------------------------===//
// Requests
//===----------------------------------------------------------------------===//

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
  (void)runRequest(number, nullptr, body); // states know of what has failed
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
               found.isHalfDone(state->lastDone)) {
      std::lock_guard lock(lostMutex);
      state->lost = artifactError(
          "the state was lost when a request failed that had gone well on some "
          "ranks: ",
          found.status.message(), "; reset it, or create another one");
    }
  }
}

/// Which ranks have begun to set its caches nobody knows.
Status Replicas::givenUp(KeptState *state) {
  if (state && pipelines[state->replica]->setsCaches())
    reset(*state);
  return givenUpWith;
}

} // namespace shardc::runtime
