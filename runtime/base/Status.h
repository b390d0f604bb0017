//===- Status.h - Success, or what went wrong -----------------------------===//
//
// Every runtime function that can fail returns a Status; no exception crosses
// an API. Allocation-free on success, so it may be returned from kernels.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_BASE_STATUS_H
#define SHARDC_RUNTIME_BASE_STATUS_H

#include <memory>
#include <string>
#include <utility>

namespace shardc::runtime {

/// The values are the exit codes that users see (DESIGN: conventions).
enum class StatusCode : int {
  Ok = 0,
  Mismatch = 1,        ///< outputs differ from the expected ones
  InvalidArgument = 2, ///< flags, inputs, guards; the caller can fix it
  Model = 3,           ///< the model: file, external data, unsupported op
  Artifact = 4,        ///< artifact, changed weights, run time
  Unsupported = 5,     ///< within a run: a kernel does not take such operands,
                       ///< and has not begun
  Cancelled = 6,       ///< whoever asked for it wants it no more
  Deadline = 7,        ///< it was not done in time
};

/// Where an error arose, as far as that is known.
struct ErrorPlace {
  int rank = -1;           ///< of the world; below 0: unknown, or of none
  int stage = -1;          ///< of the pipeline, likewise
  int instruction = -1;    ///< of the rank's program, likewise
  std::string kernel = {}; ///< that it calls: "MatMul", "all_reduce"
  std::string node = {};   ///< of the ONNX model
};

class [[nodiscard]] Status {
public:
  Status() = default;
  static Status ok() { return {}; }
  static Status error(StatusCode code, std::string message,
                      ErrorPlace place = {}) {
    Status status;
    status.state = std::make_shared<State>(
        State{code, std::move(message), std::move(place)});
    return status;
  }

  /// The same with what `here` knows and it does not say itself. One of another
  /// rank stays as it is: whoever heard of it was somewhere else.
  Status at(const ErrorPlace &here) const;
  /// The same error in other words, which say more.
  Status saying(std::string words) const {
    return state ? error(state->code, std::move(words), state->place)
                 : Status();
  }

  bool isOk() const { return !state; }
  StatusCode code() const { return state ? state->code : StatusCode::Ok; }
  const std::string &message() const {
    static const std::string none;
    return state ? state->message : none;
  }
  const ErrorPlace &place() const {
    static const ErrorPlace nowhere;
    return state ? state->place : nowhere;
  }

private:
  struct State {
    StatusCode code;
    std::string message;
    ErrorPlace place;
  };
  std::shared_ptr<const State> state;
};

inline Status Status::at(const ErrorPlace &here) const {
  if (!state)
    return {};
  ErrorPlace all = state->place;
  if (all.rank >= 0 && here.rank >= 0 && all.rank != here.rank)
    return *this;
  all.rank = all.rank >= 0 ? all.rank : here.rank;
  all.stage = all.stage >= 0 ? all.stage : here.stage;
  all.instruction = all.instruction >= 0 ? all.instruction : here.instruction;
  if (all.kernel.empty())
    all.kernel = here.kernel;
  if (all.node.empty())
    all.node = here.node;
  return error(state->code, state->message, std::move(all));
}

} // namespace shardc::runtime

/// Returns from the enclosing function if `expression` failed.
#define SHARDC_RETURN_IF_ERROR(expression)                                     \
  do {                                                                         \
    if (::shardc::runtime::Status status_ = (expression); !status_.isOk())     \
      return status_;                                                          \
  } while (false)

#endif // SHARDC_RUNTIME_BASE_STATUS_H
