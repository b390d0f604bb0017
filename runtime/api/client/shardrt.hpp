//===- shardrt.hpp - Running a compiled model from C++ --------------------===//
//
//   shardrt::Session session;
//   if (shardrt::Status status = shardrt::Session::open("model.shard", session);
//       !status.isOk())
//     die(status.message());
//   const std::vector<std::int64_t> ids = {...};
//   shardrt::Result result;
//   status = session.run({shardrt::input("input_ids", {1, 8}, ids.data())},
//                        result);
//   shardrt::Output logits;
//   status = result.output(0, logits);
//   logits.as<float>()[0];
//
// Sessions, states, pools and results of shardrt.h in classes that own what they
// hold, C++17, and nothing but this file over it: the library's ABI is that of C.
// No function throws but where memory is out. What shardrt.h says of threads,
// memory, files and trust holds here; runs into results of their own may come from
// several threads.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDRT_HPP
#define SHARDRT_HPP

#include "shardrt.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace shardrt {

class [[nodiscard]] Status {
public:
  Status() = default;
  /// What a call of C returned, with its message.
  Status(shardrt_status code)
      : value(code), text(code == SHARDRT_OK ? "" : shardrt_last_error()) {}
  bool isOk() const { return value == SHARDRT_OK; }
  shardrt_status code() const { return value; }
  const std::string &message() const { return text; }

private:
  shardrt_status value = SHARDRT_OK;
  std::string text;
};

/// The shardrt_type of a type of C++; bfloat16 and the like have none, they are
/// named by number.
template <typename T> constexpr shardrt_type typeOf() {
  if constexpr (std::is_same_v<T, bool>)
    return SHARDRT_BOOL;
  else if constexpr (std::is_same_v<T, float>)
    return SHARDRT_FLOAT32;
  else if constexpr (std::is_same_v<T, double>)
    return SHARDRT_FLOAT64;
  else {
    static_assert(std::is_integral_v<T>, "no type of a tensor");
    constexpr shardrt_type kSigned[] = {SHARDRT_INT8, SHARDRT_INT16,
                                        SHARDRT_INT32, SHARDRT_INT64};
    constexpr shardrt_type kUnsigned[] = {SHARDRT_UINT8, SHARDRT_UINT16,
                                          SHARDRT_UINT32, SHARDRT_UINT64};
    constexpr int kLog = sizeof(T) == 1   ? 0
                         : sizeof(T) == 2 ? 1
                         : sizeof(T) == 4 ? 2
                                          : 3;
    return std::is_signed_v<T> ? kSigned[kLog] : kUnsigned[kLog];
  }
}

/// Dense, row-major, in memory of the caller's that a run reads.
struct Input {
  std::string name;
  shardrt_type type;
  std::vector<std::int64_t> dims;
  const void *data;
};

template <typename T>
Input input(std::string name, std::vector<std::int64_t> dims, const T *data) {
  return {std::move(name), typeOf<T>(), std::move(dims), data};
}

/// As long as its result has it, or a session after a step with options.
struct Output {
  std::string name;
  shardrt_type type = SHARDRT_FLOAT32;
  std::vector<std::int64_t> dims;
  const void *data = nullptr;

  template <typename T> const T *as() const {
    return static_cast<const T *>(data);
  }
};

struct ValueInfo {
  std::string name;
  shardrt_type type;
  std::vector<std::string> dims; ///< "8", "batch", "past + seq"
  bool isCache;                  ///< kept by states and sequences
};

namespace detail {
template <typename T, void (*destroy)(T *)> struct Destroy {
  void operator()(T *it) const { destroy(it); }
};
template <typename T, void (*destroy)(T *)>
using Owned = std::unique_ptr<T, Destroy<T, destroy>>;

inline std::vector<shardrt_tensor> tensors(const std::vector<Input> &inputs) {
  std::vector<shardrt_tensor> all;
  for (const Input &each : inputs)
    all.push_back({each.name.c_str(), each.type,
                   static_cast<std::int32_t>(each.dims.size()),
                   each.dims.data(), each.data});
  return all;
}
inline Output output(const shardrt_tensor &tensor) {
  return {tensor.name,
          static_cast<shardrt_type>(tensor.type),
          {tensor.dims, tensor.dims + tensor.rank},
          tensor.data};
}
} // namespace detail

/// The outputs of one run.
class Result {
public:
  /// InvalidArgument where there is none, or the state keeps it.
  Status output(std::size_t index, Output &output) const {
    shardrt_tensor tensor;
    if (Status status = shardrt_result_output(it.get(), index, &tensor);
        !status.isOk())
      return status;
    output = detail::output(tensor);
    return {};
  }

private:
  friend class Session;
  friend class Pool;
  Status prepare(const shardrt_session *session) {
    if (it)
      return {};
    shardrt_result *made = nullptr;
    Status status = shardrt_result_create(session, &made);
    it.reset(made);
    return status;
  }
  detail::Owned<shardrt_result, shardrt_result_destroy> it;
};

/// Ends runs from another thread.
class Cancellation {
public:
  static Status create(Cancellation &cancellation) {
    shardrt_cancellation *made = nullptr;
    Status status = shardrt_cancellation_create(&made);
    cancellation.it.reset(made);
    return status;
  }
  void cancel() { shardrt_cancel(it.get()); }

private:
  friend struct RunOptions;
  detail::Owned<shardrt_cancellation, shardrt_cancellation_destroy> it;
};

struct RankMemory {
  std::int32_t rank = 0;
  std::int64_t committed = 0, reserved = 0;
};

/// KV caches of one sequence or batch; goes before its session does.
class State {
public:
  std::int64_t length() const { return shardrt_state_length(it.get()); }
  std::int64_t capacity() const { return shardrt_state_capacity(it.get()); }
  void reset() { shardrt_state_reset(it.get()); }
  /// Of the ranks of this process: bytes that were taken, and of addresses.
  std::vector<RankMemory> memory() const {
    std::vector<RankMemory> all(shardrt_state_num_ranks(it.get()));
    for (std::size_t i = 0; i < all.size(); ++i)
      if (shardrt_state_memory(it.get(), i, &all[i].rank, &all[i].committed,
                               &all[i].reserved) != SHARDRT_OK)
        return {};
    return all;
  }
  Status fork(State &copy) const {
    shardrt_state *made = nullptr;
    Status status = shardrt_state_fork(it.get(), &made);
    copy.it.reset(made);
    return status;
  }

private:
  friend class Session;
  detail::Owned<shardrt_state, shardrt_state_destroy> it;
};

struct RunOptions {
  std::int64_t deadlineMs = 0; ///< 0: none
  Cancellation *cancellation = nullptr;

  shardrt_run_options ofC() const {
    return {sizeof(shardrt_run_options), deadlineMs,
            cancellation ? cancellation->it.get() : nullptr};
  }
};

/// Processes each of which is a rank (shardrt_join), or this one alone:
///
///   options.processes = processes.get();
///   status = Session::open("model.shard", session, &options);
///   status = processes.rank() > 0 ? session.follow() : lead(session);
///   session.close();
///   status = processes.conclude(status);
///
/// Goes behind its sessions.
class Processes {
public:
  static Status join(Processes &processes,
                     const shardrt_join_options *options = nullptr) {
    shardrt_processes *made = nullptr;
    Status status = shardrt_join(options, &made);
    processes.it.reset(made);
    return status;
  }
  std::int32_t rank() const { return shardrt_rank(it.get()); }
  std::int32_t numRanks() const { return shardrt_num_ranks(it.get()); }
  /// Whether this process is the one to tell the user of an error.
  bool isSpeaker() const { return shardrt_is_speaker(it.get()) != 0; }
  /// The status of rank 0, or the error of another one that has failed.
  Status conclude(const Status &mine) {
    return shardrt_conclude(it.get(), mine.code(), mine.message().c_str());
  }
  shardrt_processes *get() const { return it.get(); }

private:
  detail::Owned<shardrt_processes, shardrt_leave> it;
};

/// An opened artifact.
class Session {
public:
  static Status open(const std::string &artifact, Session &session,
                     const shardrt_options *options = nullptr) {
    shardrt_session *made = nullptr;
    Status status = shardrt_open(artifact.c_str(), options, &made);
    session.it.reset(made);
    return status;
  }
  std::vector<ValueInfo> inputs() const {
    return values(shardrt_num_inputs(it.get()), shardrt_input_info);
  }
  std::vector<ValueInfo> outputs() const {
    return values(shardrt_num_outputs(it.get()), shardrt_output_info);
  }
  Status info(shardrt_session_info &info) const {
    info = {};
    info.size = sizeof info;
    return shardrt_info(it.get(), &info);
  }
  /// What ranks of this process have spent, and on what; from any thread.
  std::vector<shardrt_spent> spent() const {
    std::vector<shardrt_spent> all(shardrt_num_spent(it.get()));
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i].size = sizeof(shardrt_spent);
      if (shardrt_spent_at(it.get(), i, &all[i]) != SHARDRT_OK)
        all[i] = {};
    }
    return all;
  }
  bool isLost() const { return shardrt_is_lost(it.get()) != 0; }
  Status reopen() { return shardrt_reopen(it.get()); }
  Status reopen(Processes &processes) {
    return shardrt_reopen_with(it.get(), processes.get());
  }
  /// Does what rank 0 does, until that closes its session.
  Status follow() { return shardrt_follow(it.get()); }
  void close() { it.reset(); }

  Status run(const std::vector<Input> &inputs, Result &result,
             const RunOptions &options = {}) {
    return runWith(nullptr, inputs, result, options);
  }
  Status createState(std::int64_t capacity, State &state) {
    shardrt_state *made = nullptr;
    Status status = shardrt_state_create(it.get(), capacity, &made);
    state.it.reset(made);
    return status;
  }
  /// Without the inputs that the state keeps.
  Status run(State &state, const std::vector<Input> &inputs, Result &result,
             const RunOptions &options = {}) {
    return runWith(state.it.get(), inputs, result, options);
  }

private:
  friend class Pool;
  friend class Server;
  Status runWith(shardrt_state *state, const std::vector<Input> &inputs,
                 Result &result, const RunOptions &options) {
    if (Status status = result.prepare(it.get()); !status.isOk())
      return status;
    const shardrt_run_options all = options.ofC();
    const std::vector<shardrt_tensor> tensors = detail::tensors(inputs);
    return shardrt_run_into(it.get(), state, &all, tensors.data(),
                            tensors.size(), result.it.get());
  }
  template <typename Get>
  std::vector<ValueInfo> values(std::size_t count, Get get) const {
    std::vector<ValueInfo> all;
    for (std::size_t i = 0; i < count; ++i) {
      shardrt_value_info info = {};
      info.size = sizeof info;
      if (get(it.get(), i, &info) == SHARDRT_OK)
        all.push_back({info.name,
                       static_cast<shardrt_type>(info.type),
                       {info.dims, info.dims + info.rank},
                       info.is_cache != 0});
    }
    return all;
  }
  detail::Owned<shardrt_session, shardrt_close> it;
};

/// Positions of one text in a pool, which goes after it.
class Sequence {
public:
  std::int64_t length() const { return shardrt_sequence_length(it.get()); }
  Status truncate(std::int64_t length) {
    return shardrt_sequence_truncate(it.get(), length);
  }
  Status fork(Sequence &copy) const {
    shardrt_sequence *made = nullptr;
    Status status = shardrt_sequence_fork(it.get(), &made);
    copy.it.reset(made);
    return status;
  }

private:
  friend class Pool;
  detail::Owned<shardrt_sequence, shardrt_sequence_destroy> it;
};

struct Row {
  Sequence *sequence;
  std::vector<Input> inputs; ///< of a request of it alone, without past
  shardrt_wanted wanted = SHARDRT_LAST;
};

/// Keys and values of sequences (--serve); goes before its session does.
class Pool {
public:
  /// On that replica; below 0: each in turn.
  static Status create(Session &session, std::int64_t positions, Pool &pool,
                       std::int32_t replica = -1) {
    shardrt_pool *made = nullptr;
    Status status =
        replica < 0 ? shardrt_pool_create(session.it.get(), positions, &made)
                    : shardrt_pool_create_on(session.it.get(), positions,
                                             replica, &made);
    pool.it.reset(made);
    pool.session = session.it.get();
    return status;
  }
  std::int64_t page() const { return shardrt_pool_page(it.get()); }
  std::int64_t pages() const { return shardrt_pool_pages(it.get()); }
  std::int64_t freePages() const { return shardrt_pool_free_pages(it.get()); }
  /// What its sequences held is gone, until it is renewed: then they are empty.
  bool isLost() const { return shardrt_pool_is_lost(it.get()) != 0; }
  Status renew() { return shardrt_pool_renew(it.get()); }
  Status add(Sequence &sequence) {
    shardrt_sequence *made = nullptr;
    Status status = shardrt_sequence_create(it.get(), &made);
    sequence.it.reset(made);
    return status;
  }
  /// Rows of different sequences, which then have their positions.
  Status step(const std::vector<Row> &rows, Result &result) {
    if (Status status = result.prepare(session); !status.isOk())
      return status;
    const RowsOfC all(rows);
    return shardrt_step_into(it.get(), all.rows.data(), all.rows.size(),
                             result.it.get());
  }
  /// The same with a deadline, and somebody who may cancel it.
  Status step(const std::vector<Row> &rows, Result &result,
              const RunOptions &options) {
    if (Status status = result.prepare(session); !status.isOk())
      return status;
    const RowsOfC all(rows);
    const shardrt_run_options given = options.ofC();
    return shardrt_step_into_with(it.get(), &given, all.rows.data(),
                                  all.rows.size(), result.it.get());
  }
  /// Likewise. Outputs are in
  /// the session, until its next step: those that the pool keeps are not there.
  Status step(const std::vector<Row> &rows, const RunOptions &options) {
    const RowsOfC all(rows);
    const shardrt_run_options given = options.ofC();
    return shardrt_step_with(it.get(), &given, all.rows.data(),
                             all.rows.size());
  }
  Status output(std::size_t index, Output &output) const {
    shardrt_tensor tensor;
    if (Status status = shardrt_output(session, index, &tensor); !status.isOk())
      return status;
    output = detail::output(tensor);
    return {};
  }

private:
  struct RowsOfC {
    explicit RowsOfC(const std::vector<Row> &of) {
      for (const Row &row : of) {
        inputs.push_back(detail::tensors(row.inputs));
        rows.push_back({row.sequence ? row.sequence->it.get() : nullptr,
                        inputs.back().data(), inputs.back().size(),
                        row.wanted});
      }
    }
    std::vector<std::vector<shardrt_tensor>> inputs;
    std::vector<shardrt_row> rows;
  };
  detail::Owned<shardrt_pool, shardrt_pool_destroy> it;
  const shardrt_session *session = nullptr;
};

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

#endif // SHARDRT_HPP
