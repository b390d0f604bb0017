//===- CSession.h - What the C API has behind its session -----------------===//
#ifndef SHARDC_RUNTIME_API_CSESSION_H
#define SHARDC_RUNTIME_API_CSESSION_H

#include "runtime/api/shardrt.h"
#include "runtime/api/shardrt.hpp"
#include "runtime/base/Message.h"

#include <exception>
#include <memory>
#include <string>
#include <vector>

struct shardrt_session {
  std::unique_ptr<shardc::runtime::Session> session;
  std::vector<std::string> inputTypes;
  std::vector<std::string> outputTypes;
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

/// Appends `count` tensors of a caller of `function`.
Status readTensors(const char *function, const shardrt_tensor *tensors,
                   size_t count, std::vector<InputTensor> &to);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_API_CSESSION_H
