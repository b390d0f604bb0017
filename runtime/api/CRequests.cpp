//===- CRequests.cpp - Requests that run beside their caller, from C ------===//

#include "runtime/api/CSession.h"
#include "runtime/session/Settings.h"

using namespace shardc::runtime;

struct shardrt_request {
  std::shared_ptr<QueuedRequest> request;
  std::weak_ptr<RequestQueue> queue; ///< null once its session is closed
};

namespace {

Status readDeadline(const char *function, const shardrt_run_options *given,
                    std::chrono::milliseconds &deadline) {
  RunOptions options;
  SHARDC_RETURN_IF_ERROR(readRunOptions(function, given, options));
  if (options.cancellation)
    return argumentError(function, ": options.cancellation must be NULL; a "
                                   "request is cancelled by its handle");
  deadline = options.deadline;
  return Status::ok();
}

Status submitRun(shardrt_session *session, shardrt_state *state,
                 const shardrt_run_options *given,
                 const shardrt_tensor *tensors, size_t numInputs,
                 shardrt_result *result, const shardrt_on_end &onEnd,
                 shardrt_request **request) {
  constexpr const char *kFunction = "shardrt_submit";
  if (!session || !result)
    return argumentError(kFunction, ": session and result must not be NULL");
  std::vector<InputTensor> inputs;
  SHARDC_RETURN_IF_ERROR(readTensors(kFunction, tensors, numInputs, inputs));
  auto held = std::make_shared<HeldInputs>(inputs);
  return submitRequest(
      kFunction, *session, state, given, result,
      [session, state, held, result](const RunOptions &options) {
        return runInto(kFunction, *session, state, options, held->tensors,
                       *result);
      },
      onEnd, request);
}

} // namespace

Status shardc::runtime::submitRequest(
    const char *function, shardrt_session &session, const void *key,
    const shardrt_run_options *given, shardrt_result *result,
    std::function<Status(const RunOptions &)> body, const shardrt_on_end &onEnd,
    shardrt_request **into) {
  auto request = std::make_shared<QueuedRequest>();
  SHARDC_RETURN_IF_ERROR(readDeadline(function, given, request->deadline));
  auto taken = std::make_shared<TakenResult>(*result);
  SHARDC_RETURN_IF_ERROR(taken->check(function));
  request->key = key;
  request->body = [body = std::move(body), taken](const RunOptions &options) {
    return withoutExceptions([&] { return body(options); });
  };
  if (onEnd.call)
    request->onEnd = [onEnd](const Status &status) {
      onEnd.call(reportStatus(status),
                 status.isOk() ? nullptr : status.message().c_str(),
                 onEnd.context);
    };
  auto made = std::make_unique<shardrt_request>(
      shardrt_request{request, session.requests});
  taken.reset(); // the body's alone
  // Its callback may come before this returns.
  if (into)
    *into = made.get();
  if (Status status = session.requests->submit(request); !status.isOk()) {
    if (into)
      *into = nullptr;
    return status;
  }
  if (into)
    (void)made.release();
  return Status::ok();
}

shardrt_status shardrt_submit(shardrt_session *session, shardrt_state *state,
                              const shardrt_run_options *options,
                              const shardrt_tensor *inputs, size_t numInputs,
                              shardrt_result *result, shardrt_on_end onEnd,
                              shardrt_request **request) {
  return guarded([&] {
    return submitRun(session, state, options, inputs, numInputs, result, onEnd,
                     request);
  });
}

shardrt_status shardrt_request_wait(const shardrt_request *request) {
  return guarded([&] {
    return request ? request->request->wait()
                   : argumentError(
                         "shardrt_request_wait: request must not be NULL");
  });
}

int shardrt_request_is_done(const shardrt_request *request) {
  return !request || request->request->isDone() ? 1 : 0;
}

void shardrt_request_cancel(shardrt_request *request) {
  if (!request)
    return;
  if (const auto queue = request->queue.lock())
    queue->cancel(*request->request);
}

void shardrt_request_destroy(shardrt_request *request) { delete request; }
