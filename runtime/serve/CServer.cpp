//===- CServer.cpp - Many texts at once, from C ---------------------------===//

#include "runtime/api/CSession.h"
#include "runtime/serve/Server.h"

using namespace shardc::runtime;

struct shardrt_server {
  std::unique_ptr<Server> server;
};

struct shardrt_text {
  std::shared_ptr<Generation> text;
};

namespace {

Status readServerOptions(shardrt_session *session,
                         const shardrt_server_options *given,
                         ServerOptions &options) {
  if (!given)
    return Status::ok();
  shardrt_server_options all;
  SHARDC_RETURN_IF_ERROR(readOptions("shardrt_server_create",
                                     "shardrt_server_options", *given, all));
  for (const auto &[name, value] :
       {std::pair("positions", all.positions),
        std::pair("step_tokens", all.step_tokens),
        std::pair("step_rows", all.step_rows),
        std::pair("most_waiting", all.most_waiting)})
    if (value < 0)
      return argumentError("shardrt_server_create: ", name, " is ", value,
                           ", expected 0 or more");
  const auto set = [](auto &to, const auto &from) {
    if (from != 0)
      to = static_cast<std::decay_t<decltype(to)>>(from);
  };
  set(options.positions, all.positions);
  set(options.tokens, all.step_tokens);
  set(options.rows, all.step_rows);
  set(options.mostWaiting, all.most_waiting);
  set(options.slowdown, all.slowdown);
  if (all.slowdown < 0) // any
    options.slowdown = 0;
  options.logits = all.logits ? all.logits : "";
  if (all.reopen)
    options.reopen = [session, reopen = all.reopen,
                      context = all.context](Session &, const Status &why) {
      (void)reportStatus(why); // shardrt_last_error_info tells it where
      return statusOfCaller(reopen(session, why.message().c_str(), context),
                            shardrt_last_error());
    };
  return Status::ok();
}

Status createServer(shardrt_session *session,
                    const shardrt_server_options *given,
                    shardrt_server **into) {
  if (!session || !into)
    return argumentError("shardrt_server_create: session and server must not "
                         "be NULL");
  ServerOptions options;
  SHARDC_RETURN_IF_ERROR(readServerOptions(session, given, options));
  auto made = std::make_unique<shardrt_server>();
  SHARDC_RETURN_IF_ERROR(
      Server::start(*session->session, options, made->server));
  *into = made.release();
  return Status::ok();
}

/// What an encoder gave, as a copy.
Status readTextInputs(const shardrt_text_request &given,
                      std::vector<TextInput> &inputs) {
  std::vector<InputTensor> tensors;
  SHARDC_RETURN_IF_ERROR(readTensors("shardrt_server_submit", given.inputs,
                                     given.num_inputs, tensors));
  for (const InputTensor &tensor : tensors) {
    int64_t bytes = shardc::artifact::elementBytes(tensor.element);
    for (const int64_t dim : tensor.dims)
      if (dim < 0 || __builtin_mul_overflow(bytes, dim, &bytes))
        return argumentError("shardrt_server_submit: input '", tensor.name,
                             "' has a size of ", dim);
    if (bytes > 0 && !tensor.data)
      return argumentError("shardrt_server_submit: input '", tensor.name,
                           "' has no data");
    const auto *from = static_cast<const std::byte *>(tensor.data);
    inputs.push_back({std::string(tensor.name),
                      tensor.element,
                      {tensor.dims.begin(), tensor.dims.end()},
                      {from, from + bytes}});
  }
  return Status::ok();
}

Status readTextRequest(const shardrt_text_request &given,
                       TextRequest &request) {
  shardrt_text_request all;
  SHARDC_RETURN_IF_ERROR(
      readOptions("shardrt_server_submit", "shardrt_text_request", given, all));
  if (all.num_prompt > 0 && !all.prompt)
    return argumentError("shardrt_server_submit: prompt must not be NULL");
  if (all.deadline_ms < 0)
    return argumentError("shardrt_server_submit: deadline_ms is ",
                         all.deadline_ms, ", expected 0 or more");
  SHARDC_RETURN_IF_ERROR(readTextInputs(all, request.inputs));
  request.prompt.assign(all.prompt, all.prompt + all.num_prompt);
  request.mostTokens = all.max_tokens;
  request.deadline = std::chrono::milliseconds(all.deadline_ms);
  void *context = all.context;
  if (all.choose)
    request.choose = [choose = all.choose,
                      context](std::span<const float> logits) {
      const int64_t token = choose(logits.data(), logits.size(), context);
      return token < 0 ? std::nullopt : std::optional(token);
    };
  if (all.on_token)
    request.onToken = [onToken = all.on_token, context](int64_t token) {
      onToken(token, context);
    };
  if (all.on_end)
    request.onEnd = [onEnd = all.on_end, context](const Status &status) {
      const shardrt_status code = reportStatus(status);
      onEnd(code, status.isOk() ? nullptr : status.message().c_str(), context);
    };
  return Status::ok();
}

Status submitText(shardrt_server *server, const shardrt_text_request *given,
                  shardrt_text **into) {
  if (!server || !given)
    return argumentError("shardrt_server_submit: server and request must not "
                         "be NULL");
  TextRequest request;
  SHARDC_RETURN_IF_ERROR(readTextRequest(*given, request));
  auto made = std::make_unique<shardrt_text>();
  SHARDC_RETURN_IF_ERROR(
      server->server->submit(std::move(request), made->text));
  if (into)
    *into = made.release();
  return Status::ok();
}

Status countTexts(const shardrt_server *server, shardrt_counts *into) {
  if (!server || !into)
    return argumentError("shardrt_server_counts: server and counts must not be "
                         "NULL");
  const ServerCounts counts = server->server->counts();
  return give("shardrt_server_counts", "shardrt_counts",
              shardrt_counts{0, counts.waiting, counts.running, counts.pages,
                             counts.freePages, counts.steps, counts.tokens,
                             counts.made, counts.shared, counts.evicted,
                             counts.recovered},
              *into);
}

} // namespace

shardrt_status shardrt_server_create(shardrt_session *session,
                                     const shardrt_server_options *options,
                                     shardrt_server **server) {
  return guarded([&] { return createServer(session, options, server); });
}

void shardrt_server_destroy(shardrt_server *server) { delete server; }

shardrt_status shardrt_server_submit(shardrt_server *server,
                                     const shardrt_text_request *request,
                                     shardrt_text **text) {
  return guarded([&] { return submitText(server, request, text); });
}

shardrt_status shardrt_text_wait(const shardrt_text *text) {
  return guarded([&] {
    return text ? text->text->wait()
                : argumentError("shardrt_text_wait: text must not be NULL");
  });
}

int shardrt_text_is_done(const shardrt_text *text) {
  return !text || text->text->isDone() ? 1 : 0;
}

size_t shardrt_text_tokens(const shardrt_text *text, int64_t *tokens,
                           size_t room) {
  if (!text)
    return 0;
  const std::vector<int64_t> made = text->text->tokens();
  if (tokens)
    std::copy_n(made.begin(), std::min(room, made.size()), tokens);
  return made.size();
}

void shardrt_text_cancel(shardrt_text *text) {
  if (text)
    text->text->cancel();
}

void shardrt_text_destroy(shardrt_text *text) { delete text; }

shardrt_status shardrt_server_counts(const shardrt_server *server,
                                     shardrt_counts *counts) {
  return guarded([&] { return countTexts(server, counts); });
}
