//===- Server.h - Many texts at once --------------------------------------===//
//
// Requests come at any time. Each goes to the replica that has least to do
// (ReplicaServer.h), where a thread runs one step after the other, each of as
// many texts as there is room for (StepPlan.h). A prompt that begins as a text
// did that is still there begins with its pages.
//
//   std::unique_ptr<Server> server;
//   SHARDC_RETURN_IF_ERROR(Server::start(*session, {}, server));
//   std::shared_ptr<Generation> text;
//   SHARDC_RETURN_IF_ERROR(server->submit({{1, 345, 20}, 16}, text));
//   SHARDC_RETURN_IF_ERROR(text->wait());
//   text->tokens();
//
// For models whose inputs TextInputs.h knows. A session that is lost is opened
// again, and texts go on (SessionKeeper.h). Where ranks are processes, which do
// what rank 0 says one after the other, steps of all replicas go together.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_SERVE_SERVER_H
#define SHARDC_RUNTIME_SERVE_SERVER_H

#include "runtime/serve/ReplicaServer.h"

namespace shardc::runtime {

class Server {
public:
  /// The session lives longer, and is this server's alone.
  static Status start(Session &session, const ServerOptions &options,
                      std::unique_ptr<Server> &server);
  /// Texts that are under way end with an error.
  ~Server() = default;

  /// InvalidArgument: it has no prompt, more positions than the pool, or too
  /// many wait already.
  Status submit(TextRequest request, std::shared_ptr<Generation> &text);

  /// Of all replicas.
  ServerCounts counts() const;

private:
  Server(Session &session, const ServerOptions &options)
      : options(options), keeper(session, options.reopen) {}

  const ServerOptions options;
  SessionKeeper keeper;
  std::mutex mutex; ///< held while a text goes to a replica
  std::vector<std::unique_ptr<ReplicaServer>> replicas;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_SERVE_SERVER_H
