//===- RowRequests.h - A request as a step of rows ------------------------===//
//
// A request of `batch` rows, each behind the same past, is a step of as many
// rows whose past lies in pages:
//
//   input_ids [2, 3]            input_ids [1, 6]
//   past [2, h, 5, d]           pool [pages, h, 4, d], rows.pages [[1, 3], [0, 2]]
//   logits [2, 3, v]            logits [1, 6, v]
//   present [2, h, 8, d]        the pool, afterwards
//
// Caches of cross-attention that a request gives lie in pages of these pools; a
// step makes them of the encoder's output where a prompt does.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_TOOLS_SHARDC_VERIFY_ROWREQUESTS_H
#define SHARDC_TOOLS_SHARDC_VERIFY_ROWREQUESTS_H

#include "tools/shardc/verify/Requests.h"

namespace shardc::verifier {

/// What is expected of a step, of what is expected of a request: a step has
/// fewer outputs.
struct StepOutputs {
  /// `ofModel` are those of requests.
  StepOutputs(std::span<const runtime::TensorInfo> ofModel,
              const runtime::Session &session, const Request &request);

  std::vector<runtime::TensorInfo> infos;
  std::vector<runtime::Tensor> expected; ///< memory of the request's
  std::vector<runtime::Tensor> others;   ///< that a step does not have
};

/// Runs a request on a session of a step of rows; `outputs` are those that are
/// expected of it. An error also where the request is none that a step can do.
runtime::Status runAsRows(runtime::Session &session, const Request &request,
                          const StepOutputs &expected,
                          std::vector<runtime::Tensor> &outputs);

} // namespace shardc::verifier

#endif // SHARDC_TOOLS_SHARDC_VERIFY_ROWREQUESTS_H
