//===- Client.h - The API of C++ for others, and tensors of files ---------===//
//
// shardrun runs artifacts by what anybody has, shardrt.hpp; files of tensors, and how they
// are compared, have the runtime's own types.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_TOOLS_SHARDRUN_CLIENT_H
#define SHARDC_TOOLS_SHARDRUN_CLIENT_H

#include "runtime/api/client/shardrt.hpp"
#include "runtime/io/TensorProto.h"

#include <string>
#include <vector>

namespace shardrun {

inline shardc::runtime::Status statusOf(const shardrt::Status &status) {
  using namespace shardc::runtime;
  return status.isOk() ? Status::ok()
                       : Status::error(static_cast<StatusCode>(status.code()),
                                       status.message());
}

/// What a session takes and gives, read once.
struct Model {
  std::vector<shardc::runtime::TensorInfo> inputs, outputs;
  std::vector<char> inputIsCache, outputIsCache;
  int64_t page = 0; ///< positions, of one for steps of rows
  int worldSize = 0;
  std::string tolerance;
};

shardc::runtime::Status describe(const shardrt::Session &session, Model &model);

/// A view of it, as long as its result has it.
shardc::runtime::Status tensorOf(const shardrt::Output &output,
                                 shardc::runtime::Tensor &tensor);

std::vector<shardrt::Input>
inputsOf(const std::vector<shardc::runtime::NamedTensor> &tensors);

} // namespace shardrun

#endif // SHARDC_TOOLS_SHARDRUN_CLIENT_H
