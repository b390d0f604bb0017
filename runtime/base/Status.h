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
  InvalidArgument = 2, ///< flags or input tensors; the caller can fix the call
  Model = 3,           ///< the model: file, external data, unsupported op
  Artifact = 4,        ///< artifact, changed weights, guard, run time
  Unsupported = 5,     ///< within a run: a kernel does not take such operands,
                       ///< and has not begun
  Cancelled = 6,       ///< whoever asked for it wants it no more
  Deadline = 7,        ///< it was not done in time
};

class [[nodiscard]] Status {
public:
  Status() = default;
  static Status ok() { return {}; }
  static Status error(StatusCode code, std::string message) {
    Status status;
    status.state = std::make_shared<State>(State{code, std::move(message)});
    return status;
  }

  bool isOk() const { return !state; }
  StatusCode code() const { return state ? state->code : StatusCode::Ok; }
  const std::string &message() const {
    static const std::string none;
    return state ? state->message : none;
  }

private:
  struct State {
    StatusCode code;
    std::string message;
  };
  std::shared_ptr<const State> state;
};

} // namespace shardc::runtime

/// Returns from the enclosing function if `expression` failed.
#define SHARDC_RETURN_IF_ERROR(expression)                                     \
  do {                                                                         \
    if (::shardc::runtime::Status status_ = (expression); !status_.isOk())     \
      return status_;                                                          \
  } while (false)

#endif // SHARDC_RUNTIME_BASE_STATUS_H
