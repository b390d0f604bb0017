#include "tools/shardrun/Company.h"

#include "runtime/base/Message.h"

#include <utility>

using namespace shardc::runtime;

namespace shardrun {

Status join(const Options &options, shardrt::Processes &processes) {
  shardrt_join_options from = {};
  from.size = sizeof from;
  from.timeout_seconds = options.timeout;
  return statusOf(shardrt::Processes::join(processes, &from));
}

Status conclude(shardrt::Processes &processes, const Status &status) {
  if (!processes.get())
    return status;
  const auto code = static_cast<shardrt_status>(status.code());
  return statusOf(
      shardrt_conclude(processes.get(), code, status.message().c_str()));
}

Status Company::meetAgain(shardrt::Session &session) {
  shardrt::Processes again;
  SHARDC_RETURN_IF_ERROR(join(options, again));
  SHARDC_RETURN_IF_ERROR(statusOf(session.reopen(again)));
  processes = std::move(again);
  return Status::ok();
}

Status Company::reopen(shardrt::Session &session) {
  if (!processes.get())
    return statusOf(session.reopen());
  return left-- > 0 ? meetAgain(session)
                    : artifactError("no other process is waited for");
}

shardrt_status Reopening::call(shardrt_session *, const char *, void *context) {
  const auto &own = *static_cast<const Reopening *>(context);
  const Status status = own.company.reopen(own.session);
  // So that its message is the last error of this thread.
  return shardrt_conclude(nullptr, static_cast<shardrt_status>(status.code()),
                          status.message().c_str());
}

} // namespace shardrun
