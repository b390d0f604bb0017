//===- CSession.h - What the C API has behind its session -----------------===//
#ifndef SHARDC_RUNTIME_API_CSESSION_H
#define SHARDC_RUNTIME_API_CSESSION_H

#include "runtime/api/shardrt.h"
#include "runtime/api/shardrt.hpp"
#include "runtime/base/Message.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <vector>

struct shardrt_session {
  std::unique_ptr<shardc::runtime::Session> session;
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
  std::vector<std::string> names;
  std::vector<shardc::runtime::Tensor> outputs;
  bool hasRun = false;
  std::vector<char> kept; ///< as of a session

  void beginRun(const shardc::runtime::Session &session, bool keepsCaches);
};

namespace shardc::runtime {

/// Keeps the message for shardrt_last_error.
shardrt_status reportStatus(const Status &status);

/// No exception gets to a caller.
template <typename Body> shardrt_status guarded(Body body) {
  try {
    return reportStatus(body());
  } catch (const std::exception &error) {
    return reportStatus(artifactError("out of memory: ", error.what()));
  }
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

/// `given` may be null.
Status readRunOptions(const char *function, const shardrt_run_options *given,
                      RunOptions &options);

Processes *processesOf(shardrt_processes &processes);

/// Appends `count` tensors of a caller of `function`.
Status readTensors(const char *function, const shardrt_tensor *tensors,
                   size_t count, std::vector<InputTensor> &to);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_API_CSESSION_H
