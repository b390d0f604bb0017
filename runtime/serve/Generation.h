//===- Generation.h - A text that a server goes on with -------------------===//
#ifndef SHARDC_RUNTIME_SERVE_GENERATION_H
#define SHARDC_RUNTIME_SERVE_GENERATION_H

#include "runtime/serve/Sequences.h"
#include "runtime/serve/TextInputs.h"

#include <chrono>
#include <condition_variable>
#include <functional>
#include <optional>

namespace shardc::runtime {

struct TextRequest {
  std::vector<int64_t> prompt;
  int64_t mostTokens = 16; ///< new ones
  /// The next token, from the logits of the last position; nothing: the text
  /// has ended. Empty: the first of the largest. It is called on a thread of the
  /// server, as onToken is.
  std::function<std::optional<int64_t>(std::span<const float>)> choose = {};
  std::function<void(int64_t token)> onToken = {};
  /// Once, when it has ended, with what wait() says, and last of the three.
  std::function<void(const Status &)> onEnd = {};
  /// From when it is submitted; 0: none. It ends before the step that comes
  /// next, with the tokens that it has, and an error that says so.
  std::chrono::milliseconds deadline{0};
  /// What an encoder gave, of a model that takes that (TextInputs.h):
  /// encoder_hidden_states [1, n, d], encoder_attention_mask [1, n].
  std::vector<TextInput> inputs = {};

  /// Positions that it may take.
  int64_t room() const {
    return static_cast<int64_t>(prompt.size()) + mostTokens;
  }
};

/// A text that is under way. Thread-safe.
class Generation {
public:
  /// Until it has ended; the error that ended it, if one did.
  Status wait();
  bool isDone() const;
  /// New ones, so far.
  std::vector<int64_t> tokens() const;
  /// It ends before the next step, with the tokens that it has.
  void cancel();

private:
  friend class ReplicaServer;
  friend class Server;
  explicit Generation(TextRequest request)
      : request(std::move(request)), all(this->request.prompt) {}
  /// Once; without a lock of the server.
  void end(Status with);
  /// Whether it ends before the next step; then `with` that.
  bool isToEnd(Status &with) const;
  /// Then.
  void endAsAsked();

  const TextRequest request;
  const std::chrono::steady_clock::time_point submitted =
      std::chrono::steady_clock::now();
  std::vector<int64_t> all; ///< the prompt and what came; the server's
  std::unique_ptr<Sequence> sequence; ///< likewise
  int64_t inFlight = 0;               ///< likewise: tokens that a step is at
  int64_t encoderKeys = 0;            ///< once it is submitted

  mutable std::mutex mutex; ///< of what follows
  std::condition_variable ended;
  std::vector<int64_t> made;
  bool isOver = false, isCancelled = false;
  Status status;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_SERVE_GENERATION_H
