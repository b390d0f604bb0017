//===- Steps.h - Requests as rows of steps --------------------------------===//
//
// Of an artifact for steps of rows each request is a row of some sequence:
//
//   --inputs A0 B0 A1 B1 --sequences '0,1;0,1'   A0 beside B0, A1 beside B1
//   --inputs A0 A1                               of one sequence, two steps
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_TOOLS_SHARDRUN_STEPS_H
#define SHARDC_TOOLS_SHARDRUN_STEPS_H

#include "tools/shardrun/Client.h"

#include <string>
#include <vector>

namespace shardrun {

/// Files of one request, and what came out.
struct FileRequest {
  std::string outputs;
  std::vector<shardc::runtime::NamedTensor> inputs, expected;
  std::vector<shardc::runtime::Tensor> results;
};

/// The sequence of each request, by step.
using Steps = std::vector<std::vector<size_t>>;

/// What --sequences says for so many requests; of one sequence where it is
/// empty.
shardc::runtime::Status readSteps(const std::string &text, size_t requests,
                                  Steps &steps);

/// One step after the other, with new sequences; each request gets the outputs
/// of all of its positions.
shardc::runtime::Status runSteps(const Model &model, shardrt::Pool &pool,
                                 const Steps &steps,
                                 std::vector<FileRequest> &requests);

} // namespace shardrun

#endif // SHARDC_TOOLS_SHARDRUN_STEPS_H
