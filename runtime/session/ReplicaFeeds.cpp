//===- ReplicaFeeds.cpp - Requests that come while others run -------------===//
//
// Where ranks are processes, which do what rank 0 says one after the other, feeds
// of several replicas go together: all that have a request run them at once.
//
//===----------------------------------------------------------------------===//
#include "runtime/base/Message.h"
#include "runtime/session/Replicas.h"

#include <algorithm>
#include <utility>

namespace shardc::runtime {

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
  bool isApart() const override { return of.isApart(); }

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

//===----------------------------------------------------------------------===//
// Processes
//===----------------------------------------------------------------------===//

/// As many at a time as keep all stages at work.
Status Replicas::leadFeed(KeptState &state, RequestFeed &feed, RunEnd *end) {
  struct Counted {
    explicit Counted(Replicas &all) : all(all) {}
    ~Counted() { set(false); }
    void set(bool isOne) {
      std::lock_guard lock(all.joinMutex);
      all.numFeeds += size_t(isOne) - size_t(std::exchange(is, isOne));
      all.joinChanged.notify_all();
    }
    Replicas &all;
    bool is = false;
  } joins(*this);
  std::vector<PipelineRequest> requests;
  for (;;) {
    requests.clear();
    const size_t most = pipelines[state.replica]->stages.size();
    while (requests.size() < most) {
      const PipelineRequest *request = feed.next(/*waits=*/false);
      if (!request && requests.empty()) {
        joins.set(false); // others do not wait for what may not come for long
        request = feed.next(/*waits=*/true);
      }
      if (!request)
        break;
      requests.push_back(*request);
    }
    if (requests.empty())
      return Status::ok();
    const Part part{&state, requests};
    const bool isAlone = end || feed.isApart(); // an end is of this one alone
    joins.set(!isAlone);
    if (const Status status =
            isAlone ? leadRun({&part, 1}, end) : runJoined(part);
        !status.isOk()) {
      feed.stop();
      return status;
    }
    for (size_t i = 0; i < requests.size(); ++i)
      feed.done();
  }
}

/// One that waits for others.
struct Replicas::Joining {
  const Part part;
  Status status = {};
  bool isDone = false;
};

/// Of several that failed together each runs once more by itself: its error is its
/// own then.
void Replicas::runTogether(std::span<Joining *const> together) {
  std::vector<Part> parts;
  for (const Joining *one : together)
    parts.push_back(one->part);
  const Status status = leadRun(parts, nullptr);
  const bool isOfAll =
      status.isOk() || parts.size() == 1 || world.isLost() || isStuck();
  for (size_t i = 0; i < parts.size(); ++i)
    together[i]->status = isOfAll ? status : leadRun({&parts[i], 1}, nullptr);
}

/// Once all feeds have something to run, or are over, one of them leads.
Status Replicas::runJoined(const Part &part) {
  Joining mine{part};
  std::unique_lock lock(joinMutex);
  joining.push_back(&mine);
  joinChanged.notify_all();
  for (;;) {
    joinChanged.wait(lock, [&] {
      return mine.isDone || (!isJoined && joining.size() >= numFeeds);
    });
    if (mine.isDone)
      return mine.status;
    isJoined = true;
    const std::vector<Joining *> together = std::move(joining);
    joining.clear();
    lock.unlock();
    const Status thrown = withoutExceptions([&] {
      runTogether(together);
      return Status::ok();
    });
    lock.lock();
    isJoined = false;
    for (Joining *one : together) {
      if (!thrown.isOk())
        one->status = thrown;
      one->isDone = true;
    }
    joinChanged.notify_all();
  }
}

} // namespace shardc::runtime
