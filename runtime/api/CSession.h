//===- CSession.h - What the C API has behind its session -----------------===//
#ifndef SHARDC_RUNTIME_API_CSESSION_H
#define SHARDC_RUNTIME_API_CSESSION_H

#include "runtime/api/CBinding.h"
#include "runtime/api/RequestQueue.h"
#include "runtime/api/shardrt.h"
#include "runtime/api/shardrt.hpp"
#include "runtime/base/Message.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

struct shardrt_session {
  std::unique_ptr<shardc::runtime::Session> session;
  std::shared_ptr<const shardc::runtime::SessionPorts> ports;
  std::shared_ptr<shardc::runtime::RequestQueue> requests;
  std::vector<std::string> inputTypes;
  std::vector<std::string> outputTypes;
  std::vector<std::vector<const char *>> inputDims;
  std::vector<std::vector<const char *>> outputDims;
  std::vector<shardc::runtime::InputTensor> inputs;
  std::vector<shardc::runtime::Tensor> outputs;
  bool hasRun = false;
  /// Who has the outputs of caches of the last run.
  enum class Keeper { Nobody, State, Pool };
  Keeper keeper = Keeper::Nobody;
  std::vector<char> kept; ///< outputs that the keeper has

  /// Outputs of before are gone.
  void beginRun(Keeper keeper);
};

struct shardrt_state {
  std::unique_ptr<shardc::runtime::State> state;
};

struct shardrt_result {
  std::shared_ptr<const shardc::runtime::SessionPorts> ports;
  std::vector<shardc::runtime::Tensor> outputs;
  bool hasRun = false;
  std::vector<char> kept; ///< as of a session
  std::vector<shardc::runtime::Binding> boundInputs, boundOutputs;
  std::vector<char> isBound;         ///< of `outputs`, of the last run
  std::atomic<bool> isTaken = false; ///< by a request that is under way

  shardc::runtime::Status beginRun(const shardrt_session &session,
                                   bool keepsCaches);
  /// After a run that went well.
  void endRun();
};

namespace shardc::runtime {

shardrt_status codeOf(const Status &status);
/// Keeps the error for shardrt_last_error.
shardrt_status reportStatus(const Status &status);
/// What a caller says, or one of its functions.
Status statusOfCaller(shardrt_status status, const char *message);

/// No exception gets to a caller.
template <typename Body> shardrt_status guarded(Body body) {
  try {
    return reportStatus(body());
  } catch (const std::exception &error) {
    return reportStatus(artifactError("out of memory: ", error.what()));
  }
}

/// Of a replica that a caller names; below 0 each would come in turn.
inline Status checkReplica(const char *function, int32_t replica) {
  return replica >= 0
             ? Status::ok()
             : argumentError(function, ": there is no replica ", replica);
}

/// 1 for each output that a state keeps, or sequences.
std::vector<char> keptOutputs(const Session &session, bool keepsCaches);

/// The options of a caller that may know fewer of them, or more.
template <typename Options>
Status readOptions(const char *function, const char *type, const Options &given,
                   Options &options) {
  constexpr size_t kMostBytes = 4096; // no version has more: it was not set
  options = {};
  if (given.size < sizeof given.size || given.size > kMostBytes)
    return argumentError(function, ": options.size is ", given.size,
                         ", expected sizeof(", type, ")");
  std::memcpy(&options, &given, std::min(given.size, sizeof options));
  const char *bytes = reinterpret_cast<const char *>(&given);
  for (size_t at = sizeof options; at < given.size; ++at)
    if (bytes[at] != 0)
      return argumentError(function,
                           ": an option is set that this version of the "
                           "library does not know; use a newer one");
  return Status::ok();
}

/// Into the struct of a caller that may know fewer members, or more: those stay
/// as they are.
template <typename Info>
Status give(const char *function, const char *type, Info from, Info &to) {
  constexpr size_t kMostBytes = 4096;
  if (to.size < sizeof to.size || to.size > kMostBytes)
    return argumentError(function, ": info->size is ", to.size,
                         ", expected sizeof(", type, ")");
  from.size = to.size;
  std::memcpy(&to, &from, std::min(to.size, sizeof from));
  return Status::ok();
}

/// Tensors whose names and dims stay; their data are the caller's.
class HeldInputs {
public:
  explicit HeldInputs(std::span<const InputTensor> given) {
    for (const InputTensor &each : given) {
      InputTensor tensor = each;
      tensor.name = names.emplace_back(each.name);
      tensor.dims = dims.emplace_back(each.dims.begin(), each.dims.end());
      tensors.push_back(tensor);
    }
  }
  std::vector<InputTensor> tensors;

private:
  std::deque<std::string> names; // which stay where they are
  std::deque<std::vector<int64_t>> dims;
};

/// Submits a request that writes into `result`; `body` gets it.
Status submitRequest(const char *function, shardrt_session &session,
                     const void *key, const shardrt_run_options *given,
                     shardrt_result *result,
                     std::function<Status(const RunOptions &)> body,
                     const shardrt_on_end &onEnd, shardrt_request **request);

/// While a run, or a request, writes into a result: nobody else may.
class TakenResult {
public:
  explicit TakenResult(shardrt_result &result)
      : result(result.isTaken.exchange(true) ? nullptr : &result) {}
  ~TakenResult() {
    if (result)
      result->isTaken = false;
  }
  TakenResult(const TakenResult &) = delete;

  Status check(const char *function) const {
    return result ? Status::ok()
                  : argumentError(function, ": a request with this result is "
                                            "under way");
  }

private:
  shardrt_result *result;
};

/// Of a result that is taken. `state` may be null; what is bound comes behind
/// `inputs`.
Status runInto(const char *function, shardrt_session &session,
               shardrt_state *state, const RunOptions &options,
               std::vector<InputTensor> &inputs, shardrt_result &result);

/// `given` may be null.
Status readRunOptions(const char *function, const shardrt_run_options *given,
                      RunOptions &options);

Processes *processesOf(shardrt_processes &processes);

/// Appends `count` tensors of a caller of `function`.
Status readTensors(const char *function, const shardrt_tensor *tensors,
                   size_t count, std::vector<InputTensor> &to);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_API_CSESSION_H
