//===- shardrt_server.hpp - Many texts at once, from C++ ------------------===//
//
// A part of shardrt.hpp, which includes it: include that.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDRT_SERVER_HPP
#define SHARDRT_SERVER_HPP

#include "shardrt.hpp"

namespace shardrt {

struct TextRequest {
  std::vector<std::int64_t> prompt;
  std::int64_t maxTokens = 16; ///< new ones
  /// The next token, of the logits of the last position, or SHARDRT_END; none:
  /// the first of the largest. Functions are called on a thread of the server.
  std::function<std::int64_t(const float *logits, std::size_t count)> choose =
      {};
  std::function<void(std::int64_t token)> onToken = {};
  std::function<void(const Status &)> onEnd = {}; ///< once, and last
  std::int64_t deadlineMs = 0;                    ///< 0: none
  std::vector<Input> inputs = {}; ///< of an encoder; they are copied
};

/// A text that is under way; it goes on without this handle.
class Text {
public:
  Status wait() const { return shardrt_text_wait(it.get()); }
  bool isDone() const { return shardrt_text_is_done(it.get()) != 0; }
  /// New ones, so far.
  std::vector<std::int64_t> tokens() const {
    std::vector<std::int64_t> all(shardrt_text_tokens(it.get(), nullptr, 0));
    // One that came in between is for the next call.
    shardrt_text_tokens(it.get(), all.data(), all.size());
    return all;
  }
  void cancel() { shardrt_text_cancel(it.get()); }

private:
  friend class Server;
  detail::Owned<shardrt_text, shardrt_text_destroy> it;
};

/// Many texts at once (--serve); goes before its session does.
class Server {
public:
  static Status create(Session &session, Server &server,
                       const shardrt_server_options *options = nullptr) {
    shardrt_server *made = nullptr;
    Status status = shardrt_server_create(session.it.get(), options, &made);
    server.it.reset(made);
    return status;
  }
  Status submit(TextRequest request, Text &text) {
    auto kept = std::make_unique<TextRequest>(std::move(request));
    shardrt_text_request all = {};
    all.size = sizeof all;
    all.prompt = kept->prompt.data();
    all.num_prompt = kept->prompt.size();
    all.max_tokens = kept->maxTokens;
    if (kept->choose)
      all.choose = [](const float *logits, std::size_t count, void *of) {
        return static_cast<TextRequest *>(of)->choose(logits, count);
      };
    if (kept->onToken)
      all.on_token = [](std::int64_t token, void *of) {
        static_cast<TextRequest *>(of)->onToken(token);
      };
    all.on_end = [](shardrt_status status, const char *, void *of) {
      const std::unique_ptr<TextRequest> last(static_cast<TextRequest *>(of));
      if (last->onEnd)
        last->onEnd(Status(status));
    };
    all.context = kept.get();
    all.deadline_ms = kept->deadlineMs;
    const std::vector<shardrt_tensor> tensors = detail::tensors(kept->inputs);
    all.inputs = tensors.data();
    all.num_inputs = tensors.size();
    shardrt_text *made = nullptr;
    Status status = shardrt_server_submit(it.get(), &all, &made);
    if (status.isOk())
      kept.release(); // on_end's
    text.it.reset(made);
    return status;
  }
  Status counts(shardrt_counts &counts) const {
    counts = {};
    counts.size = sizeof counts;
    return shardrt_server_counts(it.get(), &counts);
  }

private:
  detail::Owned<shardrt_server, shardrt_server_destroy> it;
};

} // namespace shardrt

#endif // SHARDRT_SERVER_HPP
