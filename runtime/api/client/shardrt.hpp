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
#include <future>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace shardrt {

class [[nodiscard]] Status {
public:
  Status() = default;
  /// What a call of C returned, with what that says of it.
  Status(shardrt_status code) : value(code) {
    if (code == SHARDRT_OK)
      return;
    shardrt_error_info info = {};
    info.size = sizeof info;
    if (shardrt_last_error_info(&info) == SHARDRT_OK)
      why = std::make_shared<Why>(Why{info.rank, info.stage, info.instruction,
                                      info.kernel, info.node, info.message});
  }
  bool isOk() const { return value == SHARDRT_OK; }
  shardrt_status code() const { return value; }
  const std::string &message() const { return get().message; }

  // Where it arose, as far as that is known (shardrt_error_info): else -1, "".
  std::int32_t rank() const { return get().rank; }
  std::int32_t stage() const { return get().stage; }
  std::int32_t instruction() const { return get().instruction; }
  const std::string &kernel() const { return get().kernel; }
  const std::string &node() const { return get().node; }

private:
  struct Why {
    std::int32_t rank = -1, stage = -1, instruction = -1;
    std::string kernel, node, message;
  };
  const Why &get() const {
    static const Why nothing;
    return why ? *why : nothing;
  }
  shardrt_status value = SHARDRT_OK;
  std::shared_ptr<const Why> why;
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

/// Memory of the caller's, of any strides (in elements; none: dense, row-major).
struct View {
  std::string name;
  shardrt_type type;
  std::vector<std::int64_t> dims;
  void *data;
  std::vector<std::int64_t> strides = {};
  std::int32_t deviceType = 1; ///< as in shardrt_view: the host's, or a device's
  std::int32_t deviceId = 0;
};

template <typename T>
View view(std::string name, std::vector<std::int64_t> dims, T *data,
          std::vector<std::int64_t> strides = {}) {
  return {std::move(name), typeOf<T>(), std::move(dims), data,
          std::move(strides), 1, 0};
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
  std::int64_t numRows;          ///< of the table whose rows it looks up, or 0
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
/// Strides that are not as many as dims are an error of the C API: rank -1.
inline shardrt_view view(const View &of) {
  const bool fits = of.strides.empty() || of.strides.size() == of.dims.size();
  shardrt_view view = {};
  view.name = of.name.c_str();
  view.type = of.type;
  view.rank = fits ? static_cast<std::int32_t>(of.dims.size()) : -1;
  view.dims = of.dims.data();
  view.strides = of.strides.empty() ? nullptr : of.strides.data();
  view.data = of.data;
  view.device_type = of.deviceType;
  view.device_id = of.deviceId;
  return view;
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
  /// Of a result that a session has made (Session::createResult), or that a run
  /// has had: from now on runs write that output, or read that input, there.
  Status bind(const View &output) {
    const shardrt_view view = detail::view(output);
    return shardrt_result_bind(it.get(), &view);
  }
  Status bindInput(const View &input) {
    const shardrt_view view = detail::view(input);
    return shardrt_result_bind_input(it.get(), &view);
  }
  Status unbind() { return shardrt_result_unbind(it.get()); }

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
  /// Why runs with it are errors: what it held is gone.
  Status check() const { return shardrt_state_check(it.get()); }
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

/// What was submitted: it goes on without this handle.
class Request {
public:
  /// Until it has ended, and its future is ready.
  Status wait() const { return shardrt_request_wait(it.get()); }
  bool isDone() const { return shardrt_request_is_done(it.get()) != 0; }
  void cancel() { shardrt_request_cancel(it.get()); }

private:
  friend class Session;
  friend class Pool;
  detail::Owned<shardrt_request, shardrt_request_destroy> it;
};

namespace detail {
/// Submits by `call`, which gets a shardrt_on_end and a shardrt_request **.
template <typename Call>
std::future<Status> submit(shardrt_request **request, const Call &call) {
  auto promise = std::make_unique<std::promise<Status>>();
  std::future<Status> future = promise->get_future();
  const shardrt_on_end onEnd = {
      [](shardrt_status status, const char *, void *of) {
        const std::unique_ptr<std::promise<Status>> last(
            static_cast<std::promise<Status> *>(of));
        last->set_value(Status(status));
      },
      promise.get()};
  if (Status status = call(onEnd, request); status.isOk())
    promise.release(); // the callback's
  else
    promise->set_value(status);
  return future;
}
} // namespace detail

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
  /// Opens a session, follows and closes it: all that a rank beside 0 does.
  static Status runWorker(const std::string &artifact,
                          const shardrt_options &options) {
    return shardrt_worker_run(artifact.c_str(), &options);
  }
  void close() { it.reset(); }

  Status run(const std::vector<Input> &inputs, Result &result,
             const RunOptions &options = {}) {
    return runWith(nullptr, inputs, result, options);
  }
  /// Several that run together, each into a result of its own: `results` gets as
  /// many. The first error.
  Status run(const std::vector<std::vector<Input>> &requests,
             std::vector<Result> &results, const RunOptions &options = {}) {
    results.resize(requests.size());
    std::vector<std::vector<shardrt_tensor>> tensors;
    std::vector<shardrt_batch_request> all;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      if (Status status = results[i].prepare(it.get()); !status.isOk())
        return status;
      tensors.push_back(detail::tensors(requests[i]));
      all.push_back({tensors.back().data(), tensors.back().size(),
                     results[i].it.get()});
    }
    const shardrt_run_options given = options.ofC();
    return shardrt_run_batch(it.get(), &given, all.data(), all.size());
  }
  Status measureLimits(shardrt_device_limits &limits) {
    limits = {};
    limits.size = sizeof limits;
    return shardrt_measure_limits(it.get(), &limits);
  }
  /// Of the last run, of a session that was opened with `measure`.
  Status writeTrace(const std::string &path) const {
    return shardrt_write_trace(it.get(), path.c_str());
  }
  /// On that replica, or on each in turn.
  Status createState(std::int64_t capacity, State &state,
                     std::int32_t replica = -1) {
    shardrt_state *made = nullptr;
    Status status =
        replica < 0
            ? shardrt_state_create(it.get(), capacity, &made)
            : shardrt_state_create_on(it.get(), capacity, replica, &made);
    state.it.reset(made);
    return status;
  }
  /// Without the inputs that the state keeps.
  Status run(State &state, const std::vector<Input> &inputs, Result &result,
             const RunOptions &options = {}) {
    return runWith(state.it.get(), inputs, result, options);
  }

  /// For a result that is bound before the first run.
  Status createResult(Result &result) const { return result.prepare(it.get()); }
  /// As run, beside its caller: what inputs point at, and the result, stay until
  /// the future is ready. `request` may be null.
  std::future<Status> submit(const std::vector<Input> &inputs, Result &result,
                             const RunOptions &options = {},
                             Request *request = nullptr) {
    return submitWith(nullptr, inputs, result, options, request);
  }
  std::future<Status> submit(State &state, const std::vector<Input> &inputs,
                             Result &result, const RunOptions &options = {},
                             Request *request = nullptr) {
    return submitWith(state.it.get(), inputs, result, options, request);
  }

private:
  friend class Pool;
  friend class Server;
  friend class Statistics;
  std::future<Status> submitWith(shardrt_state *state,
                                 const std::vector<Input> &inputs,
                                 Result &result, const RunOptions &options,
                                 Request *request) {
    shardrt_request *made = nullptr;
    const shardrt_run_options all = options.ofC();
    const std::vector<shardrt_tensor> tensors = detail::tensors(inputs);
    std::future<Status> future = detail::submit(
        request ? &made : nullptr,
        [&](shardrt_on_end onEnd, shardrt_request **into) -> Status {
          if (Status status = result.prepare(it.get()); !status.isOk())
            return status;
          return shardrt_submit(it.get(), state, &all, tensors.data(),
                                tensors.size(), result.it.get(), onEnd, into);
        });
    if (request)
      request->it.reset(made);
    return future;
  }
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
                       info.is_cache != 0,
                       info.num_rows});
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
  /// As a step into a result, beside its caller: see Session::submit. Sequences
  /// stay, too.
  std::future<Status> submit(const std::vector<Row> &rows, Result &result,
                             const RunOptions &options = {},
                             Request *request = nullptr) {
    shardrt_request *made = nullptr;
    const shardrt_run_options given = options.ofC();
    const RowsOfC all(rows);
    std::future<Status> future = detail::submit(
        request ? &made : nullptr,
        [&](shardrt_on_end onEnd, shardrt_request **into) -> Status {
          if (Status status = result.prepare(session); !status.isOk())
            return status;
          return shardrt_submit_step(it.get(), &given, all.rows.data(),
                                     all.rows.size(), result.it.get(), onEnd,
                                     into);
        });
    if (request)
      request->it.reset(made);
    return future;
  }
  /// Several steps in order, in stages one behind the other; a sequence is in one
  /// of them alone. `results` gets as many.
  Status run(const std::vector<std::vector<Row>> &steps,
             std::vector<Result> &results, const RunOptions &options = {}) {
    results.resize(steps.size());
    std::vector<RowsOfC> rows(steps.begin(), steps.end());
    std::vector<shardrt_batch_step> all;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (Status status = results[i].prepare(session); !status.isOk())
        return status;
      all.push_back({rows[i].rows.data(), rows[i].rows.size(),
                     results[i].it.get()});
    }
    const shardrt_run_options given = options.ofC();
    return shardrt_step_batch(it.get(), &given, all.data(), all.size());
  }
  /// Outputs are in the session, until its next step: those that the pool keeps
  /// are not there.
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

} // namespace shardrt

#include "shardrt_server.hpp"     // many texts at once
#include "shardrt_statistics.hpp" // what there is, and what runs took

#endif // SHARDRT_HPP
