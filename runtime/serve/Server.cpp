#include "runtime/serve/Server.h"

#include "runtime/base/Message.h"
#include "runtime/session/Settings.h"

#include <algorithm>

namespace shardc::runtime {

Status Server::start(Session &session, const ServerOptions &options,
                     std::unique_ptr<Server> &server) {
  return withoutExceptions([&] {
    std::unique_ptr<Server> made(new Server(session, options));
    for (int i = 0; i < session.numReplicas(); ++i) {
      made->replicas.emplace_back();
      SHARDC_RETURN_IF_ERROR(ReplicaServer::start(
          session, made->keeper, i, options, made->replicas.back()));
    }
    server = std::move(made);
    return Status::ok();
  });
}

Status Server::submit(TextRequest request, std::shared_ptr<Generation> &text) {
  return withoutExceptions([&] {
    int64_t encoderKeys = 0;
    SHARDC_RETURN_IF_ERROR(replicas[0]->check(request, encoderKeys));
    std::shared_ptr<Generation> made(new Generation(std::move(request)));
    made->encoderKeys = encoderKeys;
    std::lock_guard lock(mutex);
    size_t waiting = 0;
    ReplicaServer *least = nullptr;
    for (const auto &replica : replicas) {
      waiting += replica->numWaiting();
      if (!least || least->isGone() ||
          (!replica->isGone() && replica->load() < least->load()))
        least = replica.get();
    }
    if (waiting >= options.mostWaiting)
      return argumentError(waiting, " texts wait already: try again later");
    SHARDC_RETURN_IF_ERROR(least->submit(made));
    text = std::move(made);
    return Status::ok();
  });
}

ServerCounts Server::counts() const {
  ServerCounts all;
  for (const auto &replica : replicas) {
    const ServerCounts own = replica->counts();
    all.waiting += own.waiting;
    all.running += own.running;
    all.pages += own.pages;
    all.freePages += own.freePages;
    all.made += own.made;
    all.steps += own.steps;
    all.tokens += own.tokens;
    all.shared += own.shared;
    all.evicted += own.evicted;
    all.recovered += own.recovered;
  }
  return all;
}

} // namespace shardc::runtime
