//===- CErrors.cpp - What went wrong last, from C -------------------------===//

#include "runtime/api/CSession.h"

using namespace shardc::runtime;

static thread_local Status lastError;

shardrt_status shardc::runtime::codeOf(const Status &status) {
  return status.code() == StatusCode::Unsupported // not for the outside
             ? SHARDRT_ARTIFACT
             : static_cast<shardrt_status>(status.code());
}

shardrt_status shardc::runtime::reportStatus(const Status &status) {
  if (!status.isOk())
    lastError = status;
  return codeOf(status);
}

Status shardc::runtime::statusOfCaller(shardrt_status status,
                                       const char *message) {
  if (status == SHARDRT_OK)
    return Status::ok();
  const auto code = static_cast<StatusCode>(status);
  // What the caller was told comes back as it was.
  return message && lastError.message() == message
             ? Status::error(code, message, lastError.place())
             : Status::error(code, message ? message : "it failed");
}

const char *shardrt_last_error(void) { return lastError.message().c_str(); }

shardrt_status shardrt_last_error_info(shardrt_error_info *info) {
  if (!info)
    return SHARDRT_INVALID_ARGUMENT;
  const ErrorPlace &place = lastError.place();
  shardrt_error_info from = {};
  from.code = codeOf(lastError);
  from.rank = place.rank;
  from.stage = place.stage;
  from.instruction = place.instruction;
  from.kernel = place.kernel.c_str();
  from.node = place.node.c_str();
  from.message = lastError.message().c_str();
  return codeOf(
      give("shardrt_last_error_info", "shardrt_error_info", from, *info));
}
