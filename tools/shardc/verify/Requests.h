//===- Requests.h - What a plan is tried on -------------------------------===//
#ifndef SHARDC_TOOLS_SHARDC_VERIFY_REQUESTS_H
#define SHARDC_TOOLS_SHARDC_VERIFY_REQUESTS_H

#include "compiler/probe/ModelInputs.h"
#include "runtime/api/shardrt.hpp"
#include "runtime/io/TensorProto.h"

#include <string>
#include <vector>

namespace shardc::verifier {

/// Inputs, and what one rank makes of them.
struct Request {
  std::string name; ///< "test_data_set_0", "made up: batch = 3, seq = 5"
  std::vector<runtime::NamedTensor> inputs;
  std::vector<runtime::Tensor> expected;
  bool isMadeUp =
      false; ///< one rank takes it; whether it makes sense, who knows
};

/// Runs a request on a session.
runtime::Status runRequest(runtime::Session &session, const Request &request,
                           std::vector<runtime::Tensor> &outputs);

/// The same on a session of the model with --precision f64, whatever the
/// request's own types are.
runtime::Status runInDoubles(runtime::Session &session, const Request &request,
                             std::vector<runtime::Tensor> &outputs);

struct RequestOptions {
  std::string model;               ///< its folder may hold test_data_set_K
  std::vector<std::string> inputs; ///< folders or .npz files, as given
  probe::Sizes sizes;              ///< --dims
  uint64_t seed = 0;
  unsigned madeUp = 2; ///< for each profile
};

/// The given inputs; else those beside the model and some that are made up, for
/// each profile and at several sizes. What one rank makes of them is filled in.
/// `notes` says what was left out.
runtime::Status collectRequests(const RequestOptions &options,
                                const std::vector<probe::ModelInputs> &profiles,
                                runtime::Session &one,
                                std::vector<Request> &requests,
                                std::vector<std::string> &notes);

/// Values that the model takes, for these sizes: numbers from -1 to 1, indices
/// into their tables, positions 0, 1, ..., masks of ones.
runtime::Status makeInputs(const probe::ModelInputs &model,
                           const probe::Sizes &sizes,
                           std::span<const runtime::TensorInfo> infos,
                           uint64_t seed,
                           std::vector<runtime::NamedTensor> &inputs);

} // namespace shardc::verifier

#endif // SHARDC_TOOLS_SHARDC_VERIFY_REQUESTS_H
