//===- CProcesses.cpp - One process a rank, from C ------------------------===//

#include "runtime/api/CSession.h"
#include "runtime/session/Processes.h"

#include <charconv>
#include <cmath>
#include <string_view>

using namespace shardc::runtime;

struct shardrt_processes {
  std::unique_ptr<Processes> processes;
};

Processes *shardc::runtime::processesOf(shardrt_processes &processes) {
  return processes.processes.get();
}

namespace {

/// "HOST:PORT", as SHARDC_RENDEZVOUS says it.
Status readPlace(const shardrt_join_options &from, ProcessPlace &place) {
  const std::string_view text = from.rendezvous;
  const size_t colon = text.rfind(':');
  const std::string_view port =
      colon == text.npos ? std::string_view() : text.substr(colon + 1);
  const auto [end, error] =
      std::from_chars(port.data(), port.data() + port.size(), place.port);
  if (colon == 0 || port.empty() || error != std::errc() ||
      end != port.data() + port.size() || place.port == 0)
    return argumentError("shardrt_join: rendezvous is '", from.rendezvous,
                         "', expected HOST:PORT");
  if (from.num_ranks < 1 || from.rank < 0 || from.rank >= from.num_ranks)
    return argumentError("shardrt_join: rank ", from.rank, " of ",
                         from.num_ranks,
                         ", expected num_ranks of 1 or more, and rank of 0 to "
                         "num_ranks - 1");
  place.rank = from.rank;
  place.size = from.num_ranks;
  place.host = text.substr(0, colon);
  place.launcher = "shardrt_join";
  place.job = from.job ? from.job : "";
  return Status::ok();
}

Status join(const shardrt_join_options *options, shardrt_processes **into) {
  if (!into)
    return argumentError("shardrt_join: processes must not be NULL");
  ProcessOptions from;
  if (options) {
    shardrt_join_options all;
    SHARDC_RETURN_IF_ERROR(
        readOptions("shardrt_join", "shardrt_join_options", *options, all));
    if (!(all.timeout_seconds >= 0 && all.timeout_seconds <= 1e6))
      return argumentError("shardrt_join: timeout_seconds is ",
                           all.timeout_seconds, ", expected 0 to 1000000");
    from.timeout = std::chrono::milliseconds(
        std::llround(std::ceil(all.timeout_seconds * 1000)));
    if (all.rendezvous)
      SHARDC_RETURN_IF_ERROR(readPlace(all, from.place.emplace()));
  }
  auto joined = std::make_unique<shardrt_processes>();
  SHARDC_RETURN_IF_ERROR(Processes::join(from, joined->processes));
  *into = joined->processes ? joined.release() : nullptr;
  return Status::ok();
}

Status expectWorker(const char *artifact, const shardrt_options *options) {
  if (!artifact)
    return argumentError("shardrt_worker_run: artifact must not be NULL");
  shardrt_options all = {};
  if (options)
    SHARDC_RETURN_IF_ERROR(
        readOptions("shardrt_worker_run", "shardrt_options", *options, all));
  return shardrt_rank(all.processes) > 0
             ? Status::ok()
             : argumentError("shardrt_worker_run: expected options with "
                             "processes, of which this one is not rank 0; rank "
                             "0 opens a session, and runs");
}

} // namespace

shardrt_status shardrt_join(const shardrt_join_options *options,
                            shardrt_processes **processes) {
  return guarded([&] { return join(options, processes); });
}

int32_t shardrt_rank(const shardrt_processes *processes) {
  return processes ? processes->processes->rank() : 0;
}

int32_t shardrt_num_ranks(const shardrt_processes *processes) {
  return processes ? processes->processes->size() : 1;
}

int shardrt_is_speaker(const shardrt_processes *processes) {
  return !processes || processes->processes->isSpeaker() ? 1 : 0;
}

shardrt_status shardrt_follow(shardrt_session *session) {
  return guarded([&] {
    return session ? session->session->follow()
                   : argumentError("shardrt_follow: session must not be NULL");
  });
}

shardrt_status shardrt_worker_run(const char *artifact,
                                  const shardrt_options *options) {
  if (shardrt_status status =
          guarded([&] { return expectWorker(artifact, options); }))
    return status;
  shardrt_session *session = nullptr;
  shardrt_status status = shardrt_open(artifact, options, &session);
  if (status == SHARDRT_OK)
    status = shardrt_follow(session);
  shardrt_close(session);
  return status;
}

shardrt_status shardrt_reopen_with(shardrt_session *session,
                                   shardrt_processes *processes) {
  return guarded([&] {
    if (!session)
      return argumentError("shardrt_reopen_with: session must not be NULL");
    session->hasRun = false;
    return session->session->reopen(processes ? processesOf(*processes)
                                              : nullptr);
  });
}

shardrt_status shardrt_conclude(shardrt_processes *processes,
                                shardrt_status status, const char *message) {
  return guarded([&] {
    const Status mine = statusOfCaller(status, message);
    return processes ? processes->processes->conclude(mine) : mine;
  });
}

void shardrt_leave(shardrt_processes *processes) { delete processes; }
